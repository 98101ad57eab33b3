// Shared by all scripts of the page: errors, kept where a test finds them, and numbers as people read them.

const root = document.documentElement;
root.dataset.errors = '';

function noteError(problem) {
  root.dataset.errors += `${problem}; `;
}

addEventListener('error', event => noteError(event.message));
addEventListener('unhandledrejection', event => noteError(event.reason));

function scaled(value, base, units) {
  let idx = 0;
  while (idx + 1 < units.length && value >= base * 0.9995) {
    value /= base;
    idx += 1;
  }
  const text = Number.isInteger(value) && value < 1000 ? String(value) : value.toPrecision(Math.max(3, digits(value)));
  return `${text} ${units[idx]}`.trim();
}

function digits(value) {
  return String(Math.round(value)).length;
}

const bytesText = n => scaled(n, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']);
const countText = n => scaled(n, 1000, ['', 'k', 'M', 'G', 'T']);

function timeText(ns) {
  return ns < 1e9 ? scaled(ns, 1000, ['ns', 'µs', 'ms']) : scaled(ns / 1e9, 1e12, ['s']);
}

// Shows `text` beside the pointer, inside `frame`; hides it when there is nothing to say.
function showReadout(readout, frame, event, text) {
  readout.style.visibility = text ? 'visible' : 'hidden';
  if (!text) return;
  readout.textContent = text;
  const box = frame.getBoundingClientRect();
  const x = event.clientX - box.left;
  const y = event.clientY - box.top;
  const leftmost = Math.max(0, box.width - readout.offsetWidth);
  readout.style.left = `${Math.min(x + 14, leftmost)}px`;
  // Above the pointer in the lower half, so that it stays inside.
  readout.style.top = `${y > box.height / 2 ? y - readout.offsetHeight - 10 : y + 18}px`;
}

function headOf(frame) {
  return JSON.parse(frame.querySelector('script.head').textContent);
}

// Pieces of the page of a cluster. Text is only ever put in as text.

const SVG = 'http://www.w3.org/2000/svg';

const byId = id => document.getElementById(id);

function element(name, attributes = {}, children = []) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...[children].flat());
  return made;
}

function drawing(name, attributes, children = []) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function clock(ms) {
  return new Date(ms).toLocaleTimeString();
}

// With the day where it is another one.
function moment(ms) {
  const isToday = new Date(ms).toDateString() === new Date().toDateString();
  return isToday ? clock(ms) : new Date(ms).toLocaleString();
}

function spanText(ms) {
  const s = Math.max(0, ms / 1000);
  if (s < 120) return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
  return s < 7200 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3600)} h`;
}

const cell = (text, kind = '') => element('td', kind ? { class: kind } : {}, [String(text)]);
const number = n => cell(countText(n), 'number');
const bad = (n, style) => cell(countText(n), n ? `number ${style}` : 'number');
const tag = (word, kind = word) => element('td', {}, [element('span', { class: `tag ${kind}` }, [word])]);

function titles(place, names) {
  const cells = names.map(([name, kind]) => element('th', kind ? { class: kind } : {}, [name]));
  place.replaceChildren(element('tr', {}, cells));
}

function label(x, y, anchor, text) {
  const made = drawing('text', { x, y, 'text-anchor': anchor });
  made.textContent = text;
  return made;
}

// Points of values over time, 0 at the bottom, in a box of the given size.
function area(samples, values, most, width, height) {
  const from = samples.length ? samples[0].at_ms : 0;
  const span = Math.max(1, samples.length ? samples.at(-1).at_ms - from : 1);
  return values.map((value, idx) =>
    `${((samples[idx].at_ms - from) / span * width).toFixed(1)},${(height - value / most * height).toFixed(1)}`);
}

function past(samples, values) {
  const most = Math.max(1, ...values);
  const points = area(samples, values, most, 120, 20);
  const path = points.length ? `M0,20 L${points.join(' L')} L120,20 Z` : '';
  return drawing('svg', { class: 'past', viewBox: '0 0 120 20', preserveAspectRatio: 'none' }, [drawing('path', { d: path })]);
}

// Running tasks as an area and waiting tasks as a line, each on its own scale, which is written below.
function course(samples, width) {
  const sum = key => samples.map(sample => sample.nodes.reduce((total, node) => total + node[key], 0));
  const [running, queued] = [sum('n_running'), sum('n_queued')];
  const [mostRunning, mostQueued] = [Math.max(1, ...running), Math.max(1, ...queued)];
  const height = 130;
  const runningPoints = area(samples, running, mostRunning, width, height);
  const queuedPoints = area(samples, queued, mostQueued, width, height);
  const since = samples.length ? spanText(samples.at(-1).at_ms - samples[0].at_ms) : '0 s';
  return drawing('svg', { class: 'course', viewBox: `0 0 ${width} 172`, role: 'img' }, [
    drawing('path', { class: 'running', d: runningPoints.length ? `M0,${height} L${runningPoints.join(' L')} L${width},${height} Z` : '' }),
    drawing('path', { class: 'queued', d: queuedPoints.length ? `M${queuedPoints.join(' L')}` : '' }),
    drawing('line', { x1: 0, x2: width, y1: height, y2: height }),
    label(0, 148, 'start', `${since} ago`),
    label(width, 148, 'end', 'now'),
    label(0, 166, 'start', `area: running, at most ${countText(mostRunning)}; line: waiting, at most ${countText(mostQueued)}`),
  ]);
}

const link = (text, target) => element('a', { href: `#${target}` }, [text]);
const linkCell = (text, target, kind = '') => element('td', kind ? { class: kind } : {}, [link(text, target)]);

function button(text, action, attributes = {}) {
  const made = element('button', { type: 'button', ...attributes }, [text]);
  made.addEventListener('click', action);
  return made;
}

// How a task stands, as a class of the style sheet and as words.
function outcomeOf(task) {
  const outcome = task.outcome;
  if (!outcome) return ['', task.state];
  if (outcome === 'canceled') return ['left', 'canceled'];
  if (outcome === 'lost') return ['silent', 'lost too often'];
  if (outcome['not-started'] !== undefined) return ['silent', 'not started'];
  if (outcome.signal !== undefined) return ['silent', `signal ${outcome.signal}`];
  return [outcome.exit === 0 ? 'receiver' : 'silent', `exit ${outcome.exit}`];
}

let isPressed = false;
addEventListener('pointerdown', () => (isPressed = true));
for (const name of ['pointerup', 'pointercancel']) addEventListener(name, () => (isPressed = false));

// Replaces what is in a place if it has changed, but not below a finger, whose click would be lost.
function replace(place, children) {
  if (isPressed) return;
  const made = element('div', {}, children);
  if (place.innerHTML !== made.innerHTML) place.replaceChildren(...made.childNodes);
}

// Pieces of the page of a cluster. Text is only ever put in as text.

const SVG = 'http://www.w3.org/2000/svg';
const N_SAMPLES_MAX = 600;

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

// An area under values, 0 at the bottom, as an SVG path in a box of the given size.
function area(values, most, width, height) {
  const step = width / Math.max(1, values.length - 1);
  const points = values.map((value, idx) => `${(idx * step).toFixed(1)},${(height - (value / most) * height).toFixed(1)}`);
  return points;
}

function past(values) {
  const most = Math.max(1, ...values);
  const points = area(values, most, 120, 20);
  const path = points.length ? `M0,20 L${points.join(' L')} L120,20 Z` : '';
  return drawing('svg', { class: 'past', viewBox: '0 0 120 20', preserveAspectRatio: 'none' }, [drawing('path', { d: path })]);
}

// Running tasks as an area and waiting tasks as a line, each on its own scale, which is written beside it.
function course(samples) {
  const sum = key => samples.map(sample => sample.nodes.reduce((total, node) => total + node[key], 0));
  const [running, queued] = [sum('n_running'), sum('n_queued')];
  const [mostRunning, mostQueued] = [Math.max(1, ...running), Math.max(1, ...queued)];
  const [width, height] = [1000, 150];
  const runningPoints = area(running, mostRunning, width, height);
  const queuedPoints = area(queued, mostQueued, width, height);
  const label = (x, y, anchor, text) => {
    const made = drawing('text', { x, y, 'text-anchor': anchor });
    made.textContent = text;
    return made;
  };
  const since = samples.length ? spanText(samples.at(-1).at_ms - samples[0].at_ms) : '0 s';
  return drawing('svg', { class: 'course', viewBox: `0 0 ${width} 180`, role: 'img' }, [
    drawing('path', { class: 'running', d: runningPoints.length ? `M0,${height} L${runningPoints.join(' L')} L${width},${height} Z` : '' }),
    drawing('path', { class: 'queued', d: queuedPoints.length ? `M${queuedPoints.join(' L')}` : '' }),
    drawing('line', { x1: 0, x2: width, y1: height, y2: height }),
    label(0, 172, 'start', `${since} ago`),
    label(width / 2, 172, 'middle', `area: running, at most ${countText(mostRunning)}; line: waiting, at most ${countText(mostQueued)}`),
    label(width, 172, 'end', 'now'),
  ]);
}

// Tasks over time: a lane for each task that ran at the same time on a node, a bar for each task.

const LANE = 11;
const N_LANES_MAX = 240;

let bars = new Map();
let ganttAsked = 0;
let ganttNow = 0;
let nBarsLeftOut = 0;
let ganttView = null;

function resetGantt() {
  bars = new Map();
  [ganttAsked, nBarsLeftOut, ganttView] = [0, 0, null];
  watched(askGantt);
}

const windowMs = () => Number(byId('gantt-window').value) * 60000;

async function askGantt() {
  const { tasks, title, node } = filterValues();
  // A little is asked twice, since an end may be told late.
  const since = ganttAsked ? ganttAsked - 5000 : Math.max(0, Date.now() - windowMs());
  const asked = ganttAsked;
  const answer = await fetched('active.json', { tasks, title, node, home: tasks ? '' : home(), since });
  if (asked !== ganttAsked) return;
  [ganttAsked, ganttNow] = [answer.at_ms, answer.at_ms];
  nBarsLeftOut += answer.n_left_out;
  answer.tasks.forEach(task => bars.set(task.task, task));
  for (const [name, task] of bars) if (task.ended_ms !== null && task.ended_ms < ganttNow - windowMs()) bars.delete(name);
  drawGantt();
}

// Lanes of each node: a task goes into the first lane that is free when it starts.
function lanes(from, to) {
  const nodes = new Map();
  const inSight = [...bars.values()].filter(task => task.started_ms < to && (task.ended_ms ?? to) >= from);
  inSight.sort((a, b) => a.started_ms - b.started_ms);
  for (const task of inSight) {
    const name = task.node ?? '?';
    if (!nodes.has(name)) nodes.set(name, []);
    const own = nodes.get(name);
    const end = task.ended_ms ?? Infinity;
    const free = own.find(lane => lane.until <= task.started_ms);
    if (free) {
      free.until = end;
      free.tasks.push(task);
    } else {
      own.push({ until: end, tasks: [task] });
    }
  }
  return [...nodes].sort(([a], [b]) => (a < b ? -1 : 1));
}

const kindOf = task => {
  if (!task.outcome) return 'running';
  if (task.outcome === 'canceled') return 'canceled';
  return task.outcome.exit === 0 ? 'succeeded' : 'failed';
};

// The part that was chosen, else the time from the first task in the window until now.
function ganttRange() {
  if (ganttView) return ganttView;
  const first = Math.min(...[...bars.values()].map(task => task.started_ms), ganttNow - 10000);
  return [Math.max(ganttNow - windowMs(), first), ganttNow];
}

function drawGantt() {
  const frame = byId('gantt-frame');
  const width = Math.max(200, frame.clientWidth);
  const [from, to] = ganttRange();
  const x = ms => Math.max(0, Math.min(width, (ms - from) / (to - from) * width));
  const pieces = [];
  let [y, nBars, nLanes, nLanesLeftOut] = [0, 0, 0, 0];
  for (const [node, own] of lanes(from, to)) {
    pieces.push(label(0, y + 12, 'start', node));
    y += 16;
    for (const lane of own) {
      if (nLanes >= N_LANES_MAX) {
        nLanesLeftOut += 1;
        continue;
      }
      for (const task of lane.tasks) {
        const [start, end] = [x(task.started_ms), x(task.ended_ms ?? to)];
        const box = { x: start.toFixed(1), y, width: Math.max(1, end - start - 0.5).toFixed(1), height: LANE - 2 };
        const bar = drawing('rect', { class: kindOf(task), 'data-bar': task.task, ...box });
        const title = drawing('title', {});
        title.textContent = `${task.task} ${task.title}: ${outcomeOf(task)[1]}, ${spanText((task.ended_ms ?? ganttNow) - task.started_ms)}`;
        bar.append(title);
        pieces.push(bar);
        nBars += 1;
      }
      y += LANE;
      nLanes += 1;
    }
    y += 4;
  }
  const nTicks = width < 500 ? 3 : 6;
  for (let idx = 0; idx <= nTicks; idx += 1) {
    const anchor = idx === 0 ? 'start' : idx === nTicks ? 'end' : 'middle';
    pieces.push(label(width * idx / nTicks, y + 14, anchor, clock(from + (to - from) * idx / nTicks)));
  }
  frame.replaceChildren(drawing('svg', { class: 'gantt', width, height: y + 20, viewBox: `0 0 ${width} ${y + 20}` }, pieces));
  frame.dataset.bars = nBars;
  const notes = [];
  if (nBarsLeftOut) notes.push(`${countText(nBarsLeftOut)} older tasks are left out`);
  if (nLanesLeftOut) notes.push(`${countText(nLanesLeftOut)} further lanes are left out`);
  if (!nBars) notes.push('no task ran in this time');
  small('gantt', notes.join('; '));
}

// Shows a part of the time in sight, or beside it: a factor for its length, and a shift in lengths.
function zoomGantt(factor, shift) {
  const [from, to] = ganttRange();
  const [middle, length] = [(from + to) / 2 + shift * (to - from), (to - from) * factor];
  ganttView = [middle - length / 2, middle + length / 2];
  drawGantt();
}

byId('gantt-in').addEventListener('click', () => zoomGantt(0.5, 0));
byId('gantt-out').addEventListener('click', () => zoomGantt(2, 0));
byId('gantt-back').addEventListener('click', () => zoomGantt(1, -0.5));
byId('gantt-forth').addEventListener('click', () => zoomGantt(1, 0.5));
byId('gantt-now').addEventListener('click', () => {
  ganttView = null;
  drawGantt();
});
byId('gantt-window').addEventListener('change', resetGantt);
byId('gantt-frame').addEventListener('click', event => {
  const name = event.target.closest('rect')?.dataset.bar;
  if (name) location.hash = `task=${name}`;
});
addEventListener('resize', drawGantt);

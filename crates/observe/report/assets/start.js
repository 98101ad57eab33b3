// Brings the page to life, and tests itself when the address ends in `?selftest`.

function onWheel(timeline, event) {
  const { view, painter } = timeline;
  // Without focus the wheel belongs to the page, or it could not be scrolled past the timeline.
  if (document.activeElement !== painter.canvas && !event.ctrlKey) return;
  event.preventDefault();
  if (event.shiftKey) view.scroll(Math.sign(event.deltaY || event.deltaX) * 2);
  else view.zoom(Math.exp(event.deltaY * 0.002), view.nsAt(event.offsetX));
  timeline.schedule();
}

function onDrag(timeline, event) {
  const { view } = timeline;
  view.move(-event.movementX * view.nsPerPixel());
  view.scroll(-event.movementY / view.laneHeight);
  timeline.schedule();
}

function onKey(timeline, event) {
  const { view } = timeline;
  const span = view.toNs - view.fromNs;
  const middle = view.fromNs + span / 2;
  const actions = {
    '+': () => view.zoom(0.6, middle), '=': () => view.zoom(0.6, middle), '-': () => view.zoom(1 / 0.6, middle),
    0: () => view.showAll(), Home: () => view.showAll(), f: () => timeline.fit(),
    ArrowLeft: () => view.move(-span / 5), ArrowRight: () => view.move(span / 5),
    ArrowUp: () => view.scroll(-2), ArrowDown: () => view.scroll(2),
    PageUp: () => view.scroll(-20), PageDown: () => view.scroll(20),
  };
  const action = event.ctrlKey || event.metaKey ? undefined : actions[event.key];
  if (!action) return;
  event.preventDefault();
  action();
  timeline.schedule();
}

function listen(timeline) {
  const { frame, view, painter: { canvas } } = timeline;
  const readout = frame.querySelector('.readout');
  canvas.addEventListener('wheel', event => onWheel(timeline, event), { passive: false });
  canvas.addEventListener('keydown', event => onKey(timeline, event));
  canvas.addEventListener('pointerdown', event => canvas.setPointerCapture(event.pointerId));
  canvas.addEventListener('pointermove', event => {
    if (event.buttons & 1) onDrag(timeline, event);
    showReadout(readout, frame, event, event.buttons ? '' : timeline.textAt(event.offsetX, event.offsetY));
  });
  canvas.addEventListener('pointerleave', event => showReadout(readout, frame, event, ''));
  canvas.addEventListener('dblclick', event => {
    view.zoom(0.25, view.nsAt(event.offsetX));
    timeline.schedule();
  });
}

function follow(timeline) {
  addEventListener('resize', () => timeline.resize());
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => timeline.recolor());
  // Paper is light.
  addEventListener('beforeprint', () => {
    root.dataset.print = '';
    timeline.recolor();
  });
  addEventListener('afterprint', () => {
    delete root.dataset.print;
    timeline.recolor();
  });
}

function drawLegend(timeline) {
  const legend = timeline.frame.querySelector('.legend');
  legend.replaceChildren();
  const used = new Set(timeline.head.operations.map(operation => operation.class));
  const entry = (name, color) => {
    const key = document.createElement('span');
    key.className = 'key';
    key.style.background = `var(--${color})`;
    legend.append(key, name);
  };
  entry('computing', 'base');
  for (const name of CLASSES) if (used.has(name)) entry(name, name);
}

async function decodeLanes(frame, head) {
  const reader = await unpack(frame);
  const classOf = head.operations.map(operation => {
    const known = CLASSES.indexOf(operation.class);
    return known < 0 ? CLASSES.length - 1 : known;
  });
  const lanes = [];
  let since = performance.now();
  for (const lane of head.lanes) {
    lanes.push(new Lane(lane, reader, classOf, CLASSES.length));
    if (performance.now() - since > 30) {
      await pause();
      since = performance.now();
    }
  }
  return lanes;
}

async function startTimeline(frame) {
  frame.querySelector('.legend').textContent = 'decoding …';
  const head = headOf(frame);
  const lanes = await decodeLanes(frame, head);
  const timeline = new Timeline(frame, head, lanes);
  drawLegend(timeline);
  listen(timeline);
  follow(timeline);
  root.dataset.timelineCalls = lanes.reduce((sum, lane) => sum + lane.n, 0);
  root.dataset.timelinePixels = timeline.painter.nDrawn;
  if (location.search !== '?selftest') return;
  noteDecoded(lanes);
  testTimeline(timeline);
}

// Sums over the decoded columns, for a test to compare with those that were packed.
function noteDecoded(lanes) {
  const sumOf = value => lanes.reduce((sum, lane) => sum + value(lane), 0);
  const total = column => column.reduce((sum, value) => sum + value, 0);
  root.dataset.timelineNs = sumOf(lane => total(lane.end) - total(lane.start));
  root.dataset.timelineBytes = sumOf(lane => total(lane.bytes));
  root.dataset.timelinePeers = sumOf(lane => total(lane.peer.filter(peer => peer >= 0)));
  root.dataset.timelineSites = sumOf(lane => total(lane.site.filter(site => site >= 0)));
  root.dataset.timelineMessages = sumOf(lane => lane.toLane.filter(to => to >= 0).length);
}

// Zooms in and out and over, and leaves what each frame took on the page.
function testTimeline({ view, painter, head }) {
  const frames = [];
  for (let step = 0; step < 50; step += 1) {
    const before = performance.now();
    view.zoom(step % 10 === 9 ? 1e6 : 0.4, head.endNs * ((step * 7) % 10) / 10);
    painter.draw();
    frames.push(performance.now() - before);
  }
  frames.sort((a, b) => a - b);
  root.dataset.frameMsMedian = frames[25].toFixed(2);
  root.dataset.frameMsMax = frames[49].toFixed(2);
  root.dataset.zoomedPixels = painter.nDrawn;
  view.showAll();
  painter.draw();
  root.dataset.selftest = 'done';
}

document.querySelectorAll('table.sortable').forEach(makeSortable);
document.querySelectorAll('figure.matrix').forEach(startMatrix);
document.querySelectorAll('#timeline').forEach(startTimeline);

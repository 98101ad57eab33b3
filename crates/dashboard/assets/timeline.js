// The timeline: a lane for each thread, zoomed and moved by wheel, pointer and keys.

const GUTTER = 56;
const AXIS = 22;
const LANE_HEIGHT = 18;
// Pixels computed for a frame: beyond it, columns grow wider.
const N_PIXELS_MAX = 300000;
// Calls in sight up to which names and messages are drawn.
const N_NAMED_MAX = 4000;
const SHORTEST_NS = 20;
const CLASSES = ['point-to-point', 'completion', 'collective', 'neighborhood', 'one-sided', 'io', 'communicator',
  'process', 'environment'];

function rgb(text) {
  const value = parseInt(text.trim().slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

class Timeline {
  constructor(frame, head, lanes) {
    this.frame = frame;
    this.head = head;
    this.lanes = lanes;
    this.canvas = frame.querySelector('canvas');
    this.context = this.canvas.getContext('2d');
    this.picture = document.createElement('canvas');
    this.top = 0;
    this.laneHeight = LANE_HEIGHT;
    this.nDrawn = 0;
    this.wait = 0;
    this.showAll();
    this.readColors();
    this.resize();
  }

  // The names of colors are those of the classes; a class that the page does not know is gray.
  readColors() {
    const style = getComputedStyle(root);
    const color = name => style.getPropertyValue(`--${name}`) || style.getPropertyValue('--process');
    this.colors = CLASSES.map(each => rgb(color(each)));
    this.base = rgb(color('base'));
    this.page = rgb(color('card'));
    this.textColor = color('text');
    this.softColor = color('soft');
    this.lineColor = color('line');
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    const lanesHeight = Math.min(this.lanes.length * this.laneHeight, Math.max(200, innerHeight * 0.7));
    this.width = Math.max(200, this.frame.clientWidth);
    this.height = AXIS + Math.ceil(Math.max(lanesHeight, LANE_HEIGHT));
    this.canvas.style.height = `${this.height}px`;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.ratio = ratio;
    this.draw();
  }

  showAll() {
    this.fromNs = 0;
    this.toNs = Math.max(this.head.endNs, SHORTEST_NS);
  }

  // All lanes in the height of the canvas, or lanes of the usual height.
  fit() {
    const room = Math.max(200, innerHeight * 0.7);
    const fitted = this.laneHeight !== LANE_HEIGHT;
    this.laneHeight = fitted ? LANE_HEIGHT : Math.max(1, Math.min(LANE_HEIGHT, room / this.lanes.length));
    this.top = 0;
    this.resize();
  }

  xOf(ns) {
    return GUTTER + (ns - this.fromNs) / (this.toNs - this.fromNs) * (this.width - GUTTER);
  }

  nsAt(x) {
    return this.fromNs + (x - GUTTER) / (this.width - GUTTER) * (this.toNs - this.fromNs);
  }

  yOf(lane) {
    return AXIS + (lane - this.top) * this.laneHeight;
  }

  zoom(factor, aroundNs) {
    const whole = Math.max(this.head.endNs, SHORTEST_NS);
    const span = Math.min(whole * 1.05, Math.max(SHORTEST_NS, (this.toNs - this.fromNs) * factor));
    const share = (aroundNs - this.fromNs) / (this.toNs - this.fromNs);
    this.fromNs = aroundNs - share * span;
    this.toNs = this.fromNs + span;
    this.keepInside();
  }

  move(ns) {
    this.fromNs += ns;
    this.toNs += ns;
    this.keepInside();
  }

  scroll(nLanes) {
    const nVisible = (this.height - AXIS) / this.laneHeight;
    this.top = Math.max(0, Math.min(this.lanes.length - nVisible, this.top + nLanes));
  }

  keepInside() {
    const span = this.toNs - this.fromNs;
    const margin = span * 0.02;
    const from = Math.max(-margin, Math.min(this.fromNs, this.head.endNs + margin - span));
    this.fromNs = Math.max(from, -margin);
    this.toNs = this.fromNs + span;
  }

  // Draws in the next frame, once for all changes until then.
  schedule() {
    this.wait ||= requestAnimationFrame(() => {
      this.wait = 0;
      this.draw();
    });
  }

  visibleLanes() {
    const first = Math.max(0, Math.floor(this.top));
    const last = Math.ceil(this.top + (this.height - AXIS) / this.laneHeight);
    return [first, Math.min(this.lanes.length, last)];
  }

  draw() {
    const context = this.context;
    context.fillStyle = `rgb(${this.page})`;
    context.fillRect(0, 0, this.width, this.height);
    const [first, last] = this.visibleLanes();
    context.save();
    context.beginPath();
    context.rect(0, AXIS, this.width, this.height - AXIS);
    context.clip();
    this.drawCalls(first, last);
    this.drawGaps(first, last);
    const named = this.namedCalls(first, last);
    if (named) {
      this.drawNames(named);
      this.drawMessages(named);
    }
    this.drawLabels(first, last);
    context.restore();
    this.drawAxis();
  }

  drawCalls(first, last) {
    const nLanes = Math.max(1, last - first);
    const wanted = Math.round((this.width - GUTTER) * this.ratio);
    const nPixels = Math.max(100, Math.min(wanted, Math.floor(N_PIXELS_MAX / nLanes)));
    this.picture.width = nPixels;
    this.picture.height = nLanes;
    const context = this.picture.getContext('2d');
    const image = context.createImageData(nPixels, nLanes);
    const row = new Row(nPixels, this.colors);
    this.nDrawn = 0;
    for (let idx = first; idx < last; idx += 1) {
      row.start(this.fromNs, this.toNs);
      this.lanes[idx].cover(row);
      this.nDrawn += row.write(image.data, (idx - first) * nPixels * 4, this.lanes[idx], this.base, this.page);
    }
    context.putImageData(image, 0, 0);
    this.context.imageSmoothingEnabled = false;
    this.context.drawImage(this.picture, GUTTER, this.yOf(first), this.width - GUTTER, nLanes * this.laneHeight);
  }

  drawGaps(first, last) {
    if (this.laneHeight < 5) return;
    this.context.fillStyle = `rgb(${this.page})`;
    for (let idx = first; idx <= last; idx += 1) this.context.fillRect(GUTTER, this.yOf(idx) - 1.5, this.width, 3);
  }

  // The calls in sight by lane, if they are few enough to be told apart.
  namedCalls(first, last) {
    const ranges = [];
    let n = 0;
    for (let idx = first; idx < last; idx += 1) {
      const [from, to] = this.lanes[idx].range(this.fromNs, this.toNs);
      n += to - from;
      if (n > N_NAMED_MAX) return null;
      ranges.push([idx, from, to]);
    }
    return ranges;
  }

  drawNames(ranges) {
    if (this.laneHeight < 12) return;
    this.context.font = '11px system-ui, sans-serif';
    this.context.textBaseline = 'middle';
    this.context.fillStyle = '#fff';
    for (const [idx, from, to] of ranges) {
      for (let call = from; call < to; call += 1) this.drawName(idx, call);
    }
  }

  drawName(idx, call) {
    const lane = this.lanes[idx];
    const left = Math.max(GUTTER, this.xOf(lane.start[call]));
    const room = Math.min(this.width, this.xOf(lane.end[call])) - left - 6;
    const name = this.head.operations[lane.operation[call]].name.replace(/^MPI_/, '');
    if (room < 12 || this.context.measureText(name).width > room) return;
    this.context.fillText(name, left + 3, this.yOf(idx) + this.laneHeight / 2 + 0.5);
  }

  drawMessages(ranges) {
    const context = this.context;
    context.strokeStyle = this.textColor;
    context.globalAlpha = 0.6;
    context.lineWidth = 1;
    context.beginPath();
    for (const [idx, from, to] of ranges) {
      for (let call = from; call < to; call += 1) this.traceMessage(idx, call);
    }
    context.save();
    context.clip(this.lanesPath());
    context.stroke();
    context.restore();
    context.globalAlpha = 1;
  }

  lanesPath() {
    const path = new Path2D();
    path.rect(GUTTER, AXIS, this.width - GUTTER, this.height - AXIS);
    return path;
  }

  // A line from where the message was sent to where it had been received.
  traceMessage(idx, call) {
    const lane = this.lanes[idx];
    const other = this.lanes[lane.toLane[call]];
    if (!other) return;
    const receivedNs = Math.max(other.end[lane.toCall[call]], lane.start[call]);
    this.context.moveTo(this.xOf(lane.start[call]), this.yOf(idx) + this.laneHeight / 2);
    this.context.lineTo(this.xOf(receivedNs), this.yOf(lane.toLane[call]) + this.laneHeight / 2);
  }

  drawLabels(first, last) {
    const context = this.context;
    context.fillStyle = `rgb(${this.page})`;
    context.fillRect(0, AXIS, GUTTER, this.height);
    context.fillStyle = this.softColor;
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    const every = Math.ceil(12 / this.laneHeight);
    for (let idx = Math.ceil(first / every) * every; idx < last; idx += every) {
      context.fillText(this.lanes[idx].label, GUTTER - 8, this.yOf(idx) + this.laneHeight / 2, GUTTER - 10);
    }
    context.textAlign = 'left';
  }

  drawAxis() {
    const context = this.context;
    const step = roundStep((this.toNs - this.fromNs) / ((this.width - GUTTER) / 110));
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    context.fillStyle = this.softColor;
    context.textAlign = 'right';
    context.fillText('rank', GUTTER - 8, AXIS / 2);
    context.textAlign = 'left';
    for (let ns = Math.ceil(Math.max(0, this.fromNs) / step) * step; ns < this.toNs; ns += step) {
      const x = this.xOf(ns);
      context.fillStyle = this.lineColor;
      context.fillRect(x, 4, 1, AXIS - 6);
      context.fillStyle = this.softColor;
      context.fillText(axisText(ns, step), x + 4, AXIS / 2);
    }
  }

  // What is under a point of the canvas, in words.
  textAt(x, y) {
    const idx = Math.floor((y - AXIS) / this.laneHeight + this.top);
    const lane = this.lanes[idx];
    if (!lane || x < GUTTER || y < AXIS) return '';
    const ns = this.nsAt(x);
    const slack = (this.toNs - this.fromNs) / this.width * 2;
    const call = lane.at(ns, slack);
    const text = call < 0 ? computingText(lane, ns) : this.callText(lane, call);
    return text && `rank ${lane.label}: ${text}`;
  }

  callText(lane, call) {
    const lines = [`${this.head.operations[lane.operation[call]].name}, ${timeText(lane.end[call] - lane.start[call])}`];
    if (lane.peer[call] >= 0) lines.push(`with rank ${lane.peer[call]}`);
    if (lane.bytes[call] > 0) lines.push(bytesText(lane.bytes[call]));
    const site = this.head.sites[lane.site[call]];
    if (site) lines.push(site);
    lines.push(`at ${axisText(lane.start[call], 1)}`);
    return lines.join('\n');
  }
}

function computingText(lane, ns) {
  const after = firstNotBelow(lane.start, ns);
  if (after === 0 || after === lane.n) return '';
  return `computing, ${timeText(lane.start[after] - lane.end[after - 1])}`;
}

// 1, 2 or 5 times a power of ten, not below `value`.
function roundStep(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map(factor => factor * power).find(step => step >= value);
}

// A moment with as many digits as tell it from the next one `step` away.
function axisText(ns, step) {
  const [unit, name] = ns >= 1e9 || step >= 1e9 ? [1e9, 's'] : ns >= 1e6 || step >= 1e6 ? [1e6, 'ms'] : [1e3, 'µs'];
  const nDigits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / unit) - 1e-9)));
  return `${(ns / unit).toFixed(nDigits)} ${name}`;
}

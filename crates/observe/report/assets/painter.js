// Draws what is in sight: every call as pixels, and names and messages where there is room for them.

// Pixels computed for a frame: beyond it, columns grow wider.
const N_PIXELS_MAX = 300000;
// Calls in sight up to which names and messages are drawn.
const N_NAMED_MAX = 4000;
// A lane lower than this has no gap to the next, and one lower than that no names.
const LOWEST_WITH_GAP = 5;
const LOWEST_WITH_NAMES = 12;
const FONT = '11px system-ui, sans-serif';
const CLASSES = ['point-to-point', 'completion', 'collective', 'neighborhood', 'one-sided', 'io', 'communicator',
  'process', 'environment'];

function rgb(text) {
  const value = parseInt(text.trim().slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

// The colors of the style sheet, which differ in the light and in the dark.
function colorsOfPage() {
  const style = getComputedStyle(root);
  const color = name => style.getPropertyValue(`--${name}`);
  return { classes: CLASSES.map(each => rgb(color(each))), base: rgb(color('base')), page: rgb(color('card')),
    text: color('text'), soft: color('soft'), line: color('line') };
}

class Painter {
  constructor(canvas, view, lanes, head) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.picture = document.createElement('canvas');
    this.view = view;
    this.lanes = lanes;
    this.head = head;
    this.nDrawn = 0;
    this.recolor();
  }

  recolor() {
    this.colors = colorsOfPage();
  }

  resize() {
    this.ratio = devicePixelRatio || 1;
    this.canvas.style.height = `${this.view.height}px`;
    this.canvas.width = Math.round(this.view.width * this.ratio);
    this.canvas.height = Math.round(this.view.height * this.ratio);
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
  }

  draw() {
    const { context, view } = this;
    const [first, last] = view.lanes();
    this.fill(0, 0, view.width, view.height);
    context.font = FONT;
    context.textBaseline = 'middle';
    context.save();
    context.beginPath();
    context.rect(0, AXIS, view.width, view.height - AXIS);
    context.clip();
    this.drawCalls(first, last);
    if (view.laneHeight >= LOWEST_WITH_GAP) this.drawGaps(first, last);
    const named = this.callsInSight(first, last);
    if (view.laneHeight >= LOWEST_WITH_NAMES) this.drawNames(named);
    this.drawMessages(named);
    this.drawLabels(first, last);
    context.restore();
    this.drawAxis();
  }

  // A box in the color of the page.
  fill(x, y, width, height) {
    this.context.fillStyle = `rgb(${this.colors.page})`;
    this.context.fillRect(x, y, width, height);
  }

  // A row of pixels for each lane, stretched to the lane's height.
  drawCalls(first, last) {
    const { view, picture, colors } = this;
    const nLanes = Math.max(1, last - first);
    const wanted = Math.round((view.width - GUTTER) * this.ratio);
    picture.width = Math.max(100, Math.min(wanted, Math.floor(N_PIXELS_MAX / nLanes)));
    picture.height = nLanes;
    const image = new ImageData(picture.width, nLanes);
    const row = new Row(picture.width, colors.classes);
    this.nDrawn = 0;
    for (let idx = first; idx < last; idx += 1) {
      row.start(view.fromNs, view.toNs);
      this.lanes[idx].cover(row);
      const offset = (idx - first) * picture.width * 4;
      this.nDrawn += row.write(image.data, offset, this.lanes[idx], colors.base, colors.page);
    }
    picture.getContext('2d').putImageData(image, 0, 0);
    // Smooth only where lanes share a pixel: a call has sharp ends.
    this.context.imageSmoothingEnabled = view.laneHeight < 1;
    this.context.drawImage(picture, GUTTER, view.yOf(first), view.width - GUTTER, nLanes * view.laneHeight);
  }

  drawGaps(first, last) {
    for (let idx = first; idx <= last; idx += 1) this.fill(GUTTER, this.view.yOf(idx) - 1.5, this.view.width, 3);
  }

  // The calls in sight by lane, if they are few enough to be told apart.
  callsInSight(first, last) {
    const ranges = [];
    let n = 0;
    for (let idx = first; idx < last; idx += 1) {
      const [from, to] = this.lanes[idx].range(this.view.fromNs, this.view.toNs);
      n += to - from;
      if (n > N_NAMED_MAX) return [];
      ranges.push([idx, from, to]);
    }
    return ranges;
  }

  drawNames(ranges) {
    this.context.fillStyle = '#fff';
    for (const [idx, from, to] of ranges) {
      for (let call = from; call < to; call += 1) this.drawName(idx, call);
    }
  }

  drawName(idx, call) {
    const { view, context } = this;
    const lane = this.lanes[idx];
    const left = Math.max(GUTTER, view.xOf(lane.start[call]));
    const room = Math.min(view.width, view.xOf(lane.end[call])) - left - 6;
    const name = this.head.operations[lane.operation[call]].name.replace(/^MPI_/, '');
    if (room < 12 || context.measureText(name).width > room) return;
    context.fillText(name, left + 3, view.middleOf(idx) + 0.5);
  }

  drawMessages(ranges) {
    const { context } = this;
    context.strokeStyle = this.colors.text;
    context.globalAlpha = 0.6;
    context.lineWidth = 1;
    context.beginPath();
    for (const [idx, from, to] of ranges) {
      for (let call = from; call < to; call += 1) this.traceMessage(idx, call);
    }
    context.stroke();
    context.globalAlpha = 1;
  }

  // A line from where a message was sent to where it was received. A receive that was only posted before the
  // send says nothing about the arrival: the line then ends with the send.
  traceMessage(idx, call) {
    const { view, context } = this;
    const lane = this.lanes[idx];
    const other = this.lanes[lane.toLane[call]];
    if (!other) return;
    const receivedNs = Math.max(other.end[lane.toCall[call]], lane.end[call]);
    context.moveTo(view.xOf(lane.start[call]), view.middleOf(idx));
    context.lineTo(view.xOf(receivedNs), view.middleOf(lane.toLane[call]));
  }

  drawLabels(first, last) {
    const { context, view } = this;
    this.fill(0, AXIS, GUTTER, view.height);
    context.fillStyle = this.colors.soft;
    context.textAlign = 'right';
    const every = Math.max(1, roundStep(LOWEST_WITH_NAMES / view.laneHeight));
    for (let idx = Math.ceil(first / every) * every; idx < last; idx += every) {
      const y = Math.max(view.middleOf(idx), AXIS + 6);
      context.fillText(this.lanes[idx].label, GUTTER - 8, y, GUTTER - 10);
    }
    context.textAlign = 'left';
  }

  drawAxis() {
    const { context, view } = this;
    const step = roundStep(view.nsPerPixel() * 110);
    context.fillStyle = this.colors.soft;
    context.textAlign = 'right';
    context.fillText('rank', GUTTER - 8, AXIS / 2);
    context.textAlign = 'left';
    for (let ns = Math.ceil(Math.max(0, view.fromNs) / step) * step; ns < view.toNs; ns += step) {
      context.fillStyle = this.colors.line;
      context.fillRect(view.xOf(ns), 4, 1, AXIS - 6);
      context.fillStyle = this.colors.soft;
      context.fillText(axisText(ns, step), view.xOf(ns) + 4, AXIS / 2);
    }
  }
}

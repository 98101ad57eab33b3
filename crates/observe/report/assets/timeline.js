// The timeline: what is in sight, its painter, and what is under the pointer in words.

class Timeline {
  constructor(frame, head, lanes) {
    this.frame = frame;
    this.head = head;
    this.lanes = lanes;
    this.view = new View(lanes.length, head.endNs);
    this.painter = new Painter(frame.querySelector('canvas'), this.view, lanes, head);
    this.awaited = 0;
    this.resize();
  }

  resize() {
    this.view.resize(this.frame.clientWidth);
    this.painter.resize();
    this.painter.draw();
  }

  fit() {
    this.view.fit();
    this.resize();
  }

  recolor() {
    this.painter.recolor();
    this.painter.draw();
  }

  // Draws in the next frame, once for all changes until then.
  schedule() {
    this.awaited ||= requestAnimationFrame(() => {
      this.awaited = 0;
      this.painter.draw();
    });
  }

  // Text about the call under a point of the canvas.
  textAt(x, y) {
    const lane = this.lanes[this.view.laneAt(y)];
    if (!lane || x < GUTTER) return '';
    const text = this.textOfLane(lane, this.view.nsAt(x), this.view.nsPerPixel());
    return text && `rank ${lane.label}: ${text}`;
  }

  textOfLane(lane, ns, nsPerPixel) {
    const call = lane.at(ns, 2 * nsPerPixel);
    if (call < 0) return computingText(lane, ns);
    const many = new Shares(ns - 2 * nsPerPixel, ns + 2 * nsPerPixel, CLASSES.length);
    if (lane.end[call] - lane.start[call] < 2 * nsPerPixel) lane.cover(many);
    return many.nCalls > 2 ? many.text() : this.callText(lane, call);
  }

  callText(lane, call) {
    const name = this.head.operations[lane.operation[call]].name;
    const lines = [`${name}, ${timeText(lane.end[call] - lane.start[call])}`];
    if (lane.peer[call] >= 0) lines.push(`with rank ${lane.peer[call]}`);
    if (lane.bytes[call] > 0) lines.push(bytesText(lane.bytes[call]));
    const site = this.head.sites[lane.site[call]];
    if (site) lines.push(site);
    lines.push(`at ${axisText(lane.start[call], 1)}`);
    return lines.join('\n');
  }
}

// Shares of computation and of the classes of calls in a span of time, which a lane fills like a row of pixels.
class Shares {
  constructor(fromNs, toNs, nClasses) {
    this.fromNs = fromNs;
    this.toNs = toNs;
    // Every call counts by itself, never as part of a block.
    this.nsPerPixel = 0;
    this.sums = new Float64Array(nClasses);
    this.nCalls = 0;
  }

  addCall(startNs, endNs, klass) {
    const inside = Math.min(endNs, this.toNs) - Math.max(startNs, this.fromNs);
    if (inside < 0) return;
    this.sums[klass] += inside;
    this.nCalls += 1;
  }

  // Blocks of no length: all their calls begin and end at one moment.
  addSums() {}

  text() {
    const span = this.toNs - this.fromNs;
    const shares = [...this.sums].map((sum, klass) => [CLASSES[klass], sum / span]);
    const computing = 1 - shares.reduce((sum, [, share]) => sum + share, 0);
    const all = [['computing', computing], ...shares].filter(([, share]) => share >= 0.005);
    all.sort((a, b) => b[1] - a[1]);
    const lines = all.map(([name, share]) => `${(100 * share).toFixed(0)} % ${name}`);
    return [`${countText(this.nCalls)} calls in ${timeText(span)}`, ...lines].join('\n');
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

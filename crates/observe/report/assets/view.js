// Visible part of the timeline, and its moves.

const GUTTER = 56;
const AXIS = 22;
const LANE_HEIGHT = 18;
const SHORTEST_NS = 20;

class View {
  constructor(nLanes, endNs) {
    this.nLanes = nLanes;
    this.endNs = Math.max(endNs, SHORTEST_NS);
    this.top = 0;
    this.laneHeight = LANE_HEIGHT;
    this.showAll();
  }

  showAll() {
    this.fromNs = 0;
    this.toNs = this.endNs;
  }

  resize(width) {
    this.width = Math.max(200, width);
    const lanesHeight = Math.min(this.nLanes * this.laneHeight, roomForLanes());
    this.height = AXIS + Math.ceil(Math.max(lanesHeight, LANE_HEIGHT));
    this.scroll(0);
  }

  // All lanes in the height that there is, or lanes of the usual height.
  fit() {
    const fitted = this.laneHeight !== LANE_HEIGHT;
    this.laneHeight = fitted ? LANE_HEIGHT : Math.min(LANE_HEIGHT, roomForLanes() / this.nLanes);
    this.resize(this.width);
  }

  nsPerPixel() {
    return (this.toNs - this.fromNs) / (this.width - GUTTER);
  }

  xOf(ns) {
    return GUTTER + (ns - this.fromNs) / this.nsPerPixel();
  }

  nsAt(x) {
    return this.fromNs + (x - GUTTER) * this.nsPerPixel();
  }

  // The upper edge of a lane.
  yOf(lane) {
    return AXIS + (lane - this.top) * this.laneHeight;
  }

  laneAt(y) {
    return y < AXIS ? -1 : Math.floor((y - AXIS) / this.laneHeight + this.top);
  }

  middleOf(lane) {
    return this.yOf(lane) + this.laneHeight / 2;
  }

  // The first lane in sight, and the one after the last.
  lanes() {
    const last = Math.ceil(this.top + (this.height - AXIS) / this.laneHeight - 1e-6);
    return [Math.floor(this.top), Math.min(this.nLanes, last)];
  }

  zoom(factor, aroundNs) {
    const span = Math.min(this.endNs * 1.04, Math.max(SHORTEST_NS, (this.toNs - this.fromNs) * factor));
    const share = (aroundNs - this.fromNs) / (this.toNs - this.fromNs);
    this.show(aroundNs - share * span, span);
  }

  move(ns) {
    this.show(this.fromNs + ns, this.toNs - this.fromNs);
  }

  // Never further than a little beyond the ends.
  show(fromNs, span) {
    const margin = span * 0.02;
    this.fromNs = Math.max(-margin, Math.min(fromNs, this.endNs + margin - span));
    this.toNs = this.fromNs + span;
  }

  scroll(nLanes) {
    const nInSight = (this.height - AXIS) / this.laneHeight;
    this.top = Math.max(0, Math.min(this.nLanes - nInSight, this.top + nLanes));
  }
}

function roomForLanes() {
  return Math.max(200, innerHeight * 0.7);
}

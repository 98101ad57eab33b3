// The calls of one thread: columns, and sums over blocks of calls for pictures in which many calls share a pixel.

// Calls in the smallest block, and blocks in a block of the next level.
const BLOCK = 64;
const FANOUT = 8;

class Lane {
  // `classOf` gives the class of each operation.
  constructor(head, reader, classOf, nClasses) {
    this.label = head.label;
    this.n = head.n;
    this.nClasses = nClasses;
    this.readColumns(reader);
    this.levels = [this.sumsOfCalls(classOf)];
    while (this.levels.at(-1).ends.length > FANOUT) this.levels.push(this.sumsOfBlocks(this.levels.at(-1)));
  }

  readColumns(reader) {
    const n = this.n;
    this.start = reader.numbers(new Float64Array(n));
    for (let idx = 1; idx < n; idx += 1) this.start[idx] += this.start[idx - 1];
    this.end = reader.numbers(new Float64Array(n));
    for (let idx = 0; idx < n; idx += 1) this.end[idx] += this.start[idx];
    this.operation = reader.numbers(new Uint16Array(n));
    this.site = reader.ids(n);
    this.peer = reader.ids(n);
    this.bytes = reader.numbers(new Float64Array(n));
    this.toLane = reader.ids(n);
    this.toCall = reader.ids(n);
  }

  emptyLevel(nPerBlock, nBlocks) {
    return { nPerBlock, ends: new Float64Array(nBlocks), sums: new Float32Array(nBlocks * this.nClasses) };
  }

  sumsOfCalls(classOf) {
    this.classOf = classOf;
    const level = this.emptyLevel(BLOCK, Math.ceil(this.n / BLOCK));
    for (let idx = 0; idx < this.n; idx += 1) {
      const block = Math.floor(idx / BLOCK);
      level.ends[block] = Math.max(level.ends[block], this.end[idx]);
      level.sums[block * this.nClasses + classOf[this.operation[idx]]] += this.end[idx] - this.start[idx];
    }
    return level;
  }

  sumsOfBlocks(below) {
    const level = this.emptyLevel(below.nPerBlock * FANOUT, Math.ceil(below.ends.length / FANOUT));
    for (let idx = 0; idx < below.ends.length; idx += 1) {
      const block = Math.floor(idx / FANOUT);
      level.ends[block] = Math.max(level.ends[block], below.ends[idx]);
      for (let each = 0; each < this.nClasses; each += 1) {
        level.sums[block * this.nClasses + each] += below.sums[idx * this.nClasses + each];
      }
    }
    return level;
  }

  // Calls that start in [from, to), and the one before them, which may reach into it.
  range(fromNs, toNs) {
    return [Math.max(0, firstNotBelow(this.start, fromNs) - 1), firstNotBelow(this.start, toNs)];
  }

  // Gives the pixels of `row` what each call or block of calls covers of them.
  cover(row) {
    const top = this.levels.length - 1;
    for (let block = 0; block < this.levels[top].ends.length; block += 1) this.coverBlock(row, top, block);
  }

  coverBlock(row, depth, block) {
    const level = this.levels[depth];
    const first = block * level.nPerBlock;
    const start = this.start[first];
    const end = level.ends[block];
    if (end < row.fromNs || row.toNs <= start) return;
    if (end - start <= row.nsPerPixel) {
      row.addSums(start, level.sums, block * this.nClasses, this.nClasses);
    } else if (depth > 0) {
      const last = Math.min((block + 1) * FANOUT, this.levels[depth - 1].ends.length);
      for (let child = block * FANOUT; child < last; child += 1) this.coverBlock(row, depth - 1, child);
    } else {
      this.coverCalls(row, first, Math.min(first + BLOCK, this.n));
    }
  }

  coverCalls(row, first, last) {
    for (let idx = first; idx < last; idx += 1) {
      row.addCall(this.start[idx], this.end[idx], this.classOf[this.operation[idx]]);
    }
  }

  // The call at `ns`, or one within `slackNs` of it; -1 when there is none.
  at(ns, slackNs) {
    const after = firstNotBelow(this.start, ns);
    if (after > 0 && this.end[after - 1] >= ns - slackNs) return after - 1;
    return after < this.n && this.start[after] <= ns + slackNs ? after : -1;
  }
}

// One row of pixels: how much of each is covered, by calls of which color.
class Row {
  constructor(nPixels, colors) {
    this.nPixels = nPixels;
    this.colors = colors;
    this.covered = new Float32Array(nPixels);
    this.mixed = new Float32Array(nPixels * 3);
  }

  start(fromNs, toNs) {
    this.fromNs = fromNs;
    this.toNs = toNs;
    this.nsPerPixel = (toNs - fromNs) / this.nPixels;
    this.covered.fill(0);
    this.mixed.fill(0);
  }

  add(pixel, share, color) {
    this.covered[pixel] += share;
    this.mixed[pixel * 3] += share * color[0];
    this.mixed[pixel * 3 + 1] += share * color[1];
    this.mixed[pixel * 3 + 2] += share * color[2];
  }

  addSums(startNs, sums, first, nClasses) {
    const pixel = Math.max(0, Math.floor((startNs - this.fromNs) / this.nsPerPixel));
    for (let each = 0; each < nClasses; each += 1) {
      const sum = sums[first + each];
      if (sum > 0) this.add(pixel, sum / this.nsPerPixel, this.colors[each]);
    }
  }

  addCall(startNs, endNs, klass) {
    if (endNs < this.fromNs || this.toNs <= startNs) return;
    const from = Math.max(0, (startNs - this.fromNs) / this.nsPerPixel);
    const to = Math.min(this.nPixels, (endNs - this.fromNs) / this.nsPerPixel);
    const color = this.colors[klass];
    const last = Math.min(this.nPixels - 1, Math.floor(to));
    for (let pixel = Math.floor(from); pixel <= last; pixel += 1) {
      // A call shorter than a pixel still leaves a trace.
      const share = Math.min(to, pixel + 1) - Math.max(from, pixel);
      this.add(pixel, Math.max(share, 0.01), color);
    }
  }

  // Writes the row as RGBA; pixels between `lane`'s first and last call that no call covers are computation.
  write(pixels, offset, lane, base, page) {
    const firstNs = lane.start[0];
    const lastNs = lane.levels.at(-1).ends.reduce((a, b) => Math.max(a, b), 0);
    let nCovered = 0;
    for (let pixel = 0; pixel < this.nPixels; pixel += 1) {
      const ns = this.fromNs + (pixel + 0.5) * this.nsPerPixel;
      const behind = ns >= firstNs && ns <= lastNs ? base : page;
      const covered = this.covered[pixel];
      // Something must never look like nothing: a quarter is the least that is seen.
      const shown = covered > 0 ? Math.min(1, Math.max(covered, 0.25)) : 0;
      const scale = covered > 0 ? shown / covered : 0;
      nCovered += covered > 0 ? 1 : 0;
      for (let each = 0; each < 3; each += 1) {
        pixels[offset++] = this.mixed[pixel * 3 + each] * scale + behind[each] * (1 - shown);
      }
      pixels[offset++] = 255;
    }
    return nCovered;
  }
}

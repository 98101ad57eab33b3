// Columns of numbers out of text: base64, deflate, variable-length integers. src/html/packed.rs writes them.

const PIECE = 1 << 20;

function* decodedPieces(base64) {
  for (let at = 0; at < base64.length; at += PIECE) {
    const text = atob(base64.slice(at, at + PIECE));
    const bytes = new Uint8Array(text.length);
    for (let idx = 0; idx < text.length; idx += 1) bytes[idx] = text.charCodeAt(idx);
    yield bytes;
  }
}

async function unpack(frame) {
  const element = frame.querySelector('script.data');
  const packed = new Blob([...decodedPieces(element.textContent)]).stream();
  // The text is no longer needed, and a large page should not hold its data twice.
  element.remove();
  const bytes = await new Response(packed.pipeThrough(new DecompressionStream('deflate'))).arrayBuffer();
  return new Reader(new Uint8Array(bytes));
}

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  next() {
    let byte = this.bytes[this.at++];
    if (byte < 128) return byte;
    let value = byte & 127;
    let scale = 128;
    do {
      byte = this.bytes[this.at++];
      // Not a shift: a sum of products is exact up to 2^53.
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte >= 128);
    return value;
  }

  nextSigned() {
    const zigzag = this.next();
    return zigzag % 2 ? -(zigzag + 1) / 2 : zigzag / 2;
  }

  numbers(column) {
    for (let idx = 0; idx < column.length; idx += 1) column[idx] = this.next();
    return column;
  }

  // Ids that may be missing, written as differences of one more than they are: -1 is none.
  ids(n) {
    const column = new Int32Array(n);
    let value = 0;
    for (let idx = 0; idx < n; idx += 1) {
      value += this.nextSigned();
      column[idx] = value - 1;
    }
    return column;
  }
}

// The task of the browser that waits longest comes first: a pointer, a key, a frame.
function pause() {
  return new Promise(resolve => { setTimeout(resolve, 0); });
}

// Reads the values of a communication matrix under the pointer. The picture itself needs no script.

async function cellsOf(frame, head) {
  const reader = await unpack(frame);
  const cells = { position: new Float64Array(head.nCells), messages: new Float64Array(head.nCells),
    bytes: new Float64Array(head.nCells) };
  let position = 0;
  for (let idx = 0; idx < head.nCells; idx += 1) {
    position += reader.next();
    cells.position[idx] = position;
    cells.messages[idx] = reader.next();
    cells.bytes[idx] = reader.next();
  }
  return cells;
}

function ranksOf(cell, head) {
  if (head.ranksPerCell === 1) return String(cell);
  const first = cell * head.ranksPerCell;
  return `${first}–${first + head.ranksPerCell - 1}`;
}

function cellText(cells, head, from, to) {
  const position = from * head.side + to;
  const idx = firstNotBelow(cells.position, position);
  const way = `${ranksOf(from, head)} → ${ranksOf(to, head)}`;
  if (cells.position[idx] !== position) return `${way}: nothing`;
  return `${way}: ${bytesText(cells.bytes[idx])} in ${countText(cells.messages[idx])} messages`;
}

// The first position in an ascending column whose value is not below `value`.
function firstNotBelow(column, value) {
  let low = 0;
  let high = column.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function startMatrix(figure) {
  const head = headOf(figure);
  const picture = figure.querySelector('img');
  const readout = figure.querySelector('.readout');
  let cells = null;
  picture.addEventListener('pointermove', async event => {
    cells ??= cellsOf(figure, head);
    const known = await cells;
    const box = picture.getBoundingClientRect();
    const cell = (at, length) => Math.min(head.side - 1, Math.max(0, Math.floor(at / length * head.side)));
    const from = cell(event.clientY - box.top, box.height);
    const to = cell(event.clientX - box.left, box.width);
    showReadout(readout, figure, event, cellText(known, head, from, to));
  });
  picture.addEventListener('pointerleave', event => showReadout(readout, figure, event, ''));
}

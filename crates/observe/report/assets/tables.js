// Tables that sort by the column whose title is chosen.

function valueOf(row, column) {
  const cell = row.cells[column];
  if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
  const number = Number(cell.textContent);
  return Number.isNaN(number) ? cell.textContent : number;
}

function compare(a, b) {
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b));
}

function sortBy(table, title) {
  const column = title.cellIndex;
  // Numbers are looked at from the largest down, names from A on.
  const first = title.classList.contains('number') ? 'descending' : 'ascending';
  const other = first === 'descending' ? 'ascending' : 'descending';
  const order = title.getAttribute('aria-sort') === first ? other : first;
  const sign = order === 'ascending' ? 1 : -1;
  const body = table.tBodies[0];
  const rows = [...body.rows].sort((a, b) => sign * compare(valueOf(a, column), valueOf(b, column)));
  body.append(...rows);
  for (const each of table.tHead.rows[0].cells) each.removeAttribute('aria-sort');
  title.setAttribute('aria-sort', order);
}

function makeSortable(table) {
  table.classList.add('can-sort');
  for (const title of table.tHead.rows[0].cells) {
    if (title.classList.contains('fixed')) continue;
    title.tabIndex = 0;
    title.addEventListener('click', () => sortBy(table, title));
    title.addEventListener('keydown', event => {
      if (event.key === 'Enter') sortBy(table, title);
    });
  }
}

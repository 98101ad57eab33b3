// Flame graph: a click enlarges a function to the whole width.

function showFlame(graph, from, width) {
  const total = graph.viewBox.baseVal.width;
  for (const box of graph.querySelectorAll('g')) {
    const start = Number(box.dataset.x);
    const end = start + Number(box.dataset.w);
    const x = (Math.max(start, from) - from) / width * total;
    const w = (Math.min(end, from + width) - from) / width * total - x;
    box.style.display = w > 0.5 ? '' : 'none';
    const [rect, text] = [box.querySelector('rect'), box.querySelector('text')];
    rect.setAttribute('x', x);
    rect.setAttribute('width', Math.max(w, 0));
    text.setAttribute('x', x + 3);
    const n = Math.floor((w - 6) / 6);
    text.textContent = n < 3 ? '' : box.dataset.name.slice(0, n);
  }
}

for (const graph of document.querySelectorAll('svg.flame')) {
  graph.addEventListener('click', event => {
    const box = event.target.closest('g');
    if (box) showFlame(graph, Number(box.dataset.x), Number(box.dataset.w));
  });
}

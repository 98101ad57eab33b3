// The page of a cluster: shows the state that came with it, then asks for news each second.

const ASK_EVERY_MS = 1000;
const ASK_TASKS_EVERY_MS = 2000;
// Older samples are kept as the daemon keeps them.
const KEEP_MS = 3600000;
const N_MATRIX_MAX = 16;

let samples = [];

function showFacts(state) {
  const up = state.nodes.filter(node => node.presence === 'up');
  const sum = (nodes, of) => nodes.reduce((total, node) => total + of(node), 0);
  const facts = [
    ['nodes up', up.length === state.nodes.length ? `${up.length}` : `${up.length} of ${state.nodes.length}`],
    ['cores', sum(up, node => node.n_cores)],
    ['running', sum(state.nodes, node => node.n_running)],
    ['waiting', countText(sum(state.nodes, node => node.n_queued))],
    ['succeeded', countText(sum(state.nodes, node => node.counts.n_succeeded))],
    ['failed', countText(sum(state.nodes, node => node.counts.n_failed))],
    ['canceled', countText(sum(state.nodes, node => node.counts.n_canceled))],
    ['retried', countText(sum(state.nodes, node => node.counts.n_retried))],
    ['moved', countText(sum(state.nodes, node => node.counts.n_moved_in))],
  ];
  if (state.durations_ms) facts.push(['half took at most', spanText(state.durations_ms[0])], ['nine of ten', spanText(state.durations_ms[1])]);
  if (typeof state.left_ms === 'number') facts.push(['left at this pace', spanText(state.left_ms)]);
  byId('facts').replaceChildren(...facts.map(([name, value]) =>
    element('div', {}, [element('dd', {}, [String(value)]), element('dt', {}, [name])])));
}

function nodeRow(node) {
  const share = Math.min(1, node.n_running / Math.max(1, node.n_cores));
  const fill = element('div');
  fill.style.width = `${100 * share}%`;
  const queues = samples.map(sample => sample.nodes.find(point => point.node === node.node)?.n_queued ?? 0);
  const state = node.presence === 'up' && node.load ? tag(node.load) : tag(node.presence);
  return element('tr', { 'data-node': node.node }, [
    linkCell(node.node, `on=${node.node}`, 'name'), state,
    element('td', {}, [element('div', { class: 'meter' }, [fill])]),
    cell(`${node.n_running}/${node.n_cores}`, 'number'),
    number(node.n_queued), element('td', {}, [past(samples, queues)]), bad(node.counts.n_failed, 'poor'),
    number(node.n_leased), number(node.counts.n_moved_in), number(node.counts.n_moved_out), number(node.counts.n_ended),
    bad(node.counts.n_canceled, 'fair'), bad(node.counts.n_retried, 'fair'), bad(node.counts.n_lost, 'fair'),
    cell(node.speed.toFixed(2), 'number'), cell(node.address, 'name'),
  ]);
}

function moveRow(move) {
  const words = [];
  if (move.n_taken) words.push(`took ${countText(move.n_taken)}`);
  if (move.n_given) words.push(`gave ${countText(move.n_given)}`);
  return element('li', {}, [element('time', {}, [clock(move.at_ms)]), ` ${move.node} ${words.join(' and ')}`]);
}

// Who gave how many tasks to whom, since the daemons started: rows give, columns take.
function moveMatrix(nodes) {
  const total = new Map();
  const count = (name, n) => total.set(name, (total.get(name) ?? 0) + n);
  for (const node of nodes) for (const [to, n] of Object.entries(node.moved_to ?? {})) [node.node, to].forEach(name => count(name, n));
  const names = [...total].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  const shown = names.slice(0, N_MATRIX_MAX).sort();
  small('moves', names.length > shown.length ? `the ${shown.length} nodes with most; ${names.length - shown.length} are left out` : '');
  if (!shown.length) return [];
  const of = (from, to) => nodes.find(node => node.node === from)?.moved_to?.[to] ?? 0;
  const most = Math.max(1, ...shown.flatMap(from => shown.map(to => of(from, to))));
  const head = element('tr', {}, ['from \\ to', ...shown].map(name => element('th', {}, [name])));
  const rows = shown.map(from => element('tr', {}, [element('th', {}, [from]), ...shown.map(to => {
    const n = of(from, to);
    const made = cell(n ? countText(n) : '', 'number');
    made.style.setProperty('--share', n / most);
    if (n) made.dataset.move = `${from} ${to}`;
    return made;
  })]));
  return [element('table', { class: 'moves' }, [element('thead', {}, [head]), element('tbody', {}, rows)])];
}

// Warnings about a node: its journal was damaged, or it has dropped something.
function notes(node) {
  const { n_brief, n_tasks_max, n_outputs_dropped, output_bytes_max } = node.kept ?? {};
  const kept = [];
  if (n_brief) kept.push(`of ${countText(n_brief)} ended tasks only how they ended is kept (--keep-tasks ${n_tasks_max})`);
  if (n_outputs_dropped) kept.push(`what ${countText(n_outputs_dropped)} tasks wrote was dropped (--keep-output ${output_bytes_max})`);
  const row = style => text => element('li', { class: style }, [`${node.node}: ${text}`]);
  return [...(node.troubles ?? []).map(row('poor')), ...kept.map(row('fair'))];
}

// Nodes that tasks may have been submitted to; this one first.
function showHomes(state) {
  const select = byId('home');
  const names = state.nodes.filter(node => node.presence === 'up' && node.node !== state.node).map(node => node.node);
  const options = [['', state.node], ...names.map(name => [name, name])];
  if (select.options.length === options.length && options.every(([value], idx) => select.options[idx].value === value)) return;
  const chosen = select.value;
  select.replaceChildren(...options.map(([value, text]) => element('option', { value }, [text])));
  select.value = names.includes(chosen) ? chosen : '';
  byId('homes').hidden = options.length < 2;
}

function show(state) {
  const first = samples.length ? samples.at(-1).at_ms : 0;
  samples = samples.concat(state.history.filter(sample => sample.at_ms > first)).filter(sample => sample.at_ms > state.at_ms - KEEP_MS);
  byId('node').textContent = state.node;
  showHomes(state);
  showFacts(state);
  byId('note-rows').replaceChildren(...state.nodes.flatMap(notes));
  byId('chart').replaceChildren(course(samples, Math.max(200, byId('chart').clientWidth)));
  replace(byId('node-rows'), state.nodes.map(nodeRow));
  replace(byId('move-matrix'), moveMatrix(state.nodes));
  byId('move-rows').replaceChildren(...state.moves.map(moveRow));
  root.dataset.updates = Number(root.dataset.updates ?? 0) + 1;
}

// Runs a question; what goes wrong is shown, and the last data stay.
async function watched(question) {
  try {
    await question();
    byId('trouble').textContent = '';
  } catch (problem) {
    byId('trouble').textContent = `The daemon cannot be reached (${problem.message}); this is what it said last.`;
    root.dataset.trouble = problem.message;
  }
}

async function ask() {
  await watched(async () => show(await fetched('state.json', { after: samples.length ? samples.at(-1).at_ms : 0 })));
  setTimeout(ask, ASK_EVERY_MS);
}

async function askTasks() {
  await watched(async () => {
    await askJobs();
    await askGantt();
    await askList();
    if (watchedTask && byId('task').open) await showTask(watchedTask);
    root.dataset.lists = Number(root.dataset.lists ?? 0) + 1;
  });
}

async function askTasksAgain() {
  // Who does not look needs no news.
  if (!document.hidden) await askTasks();
  setTimeout(askTasksAgain, ASK_TASKS_EVERY_MS);
}

byId('home').addEventListener('change', () => {
  listAfter = undefined;
  listOrder = undefined;
  resetGantt();
  askTasks();
});
titles(byId('job-titles'), [['tasks'], ['what'], ['progress'], ['ended', 'number'], ['running', 'number'], ['failed', 'number'],
  ['canceled', 'number'], ['again', 'number minor'], ['median', 'number minor'], ['9 of 10', 'number minor'], ['left', 'number'], ['submitted', 'number minor'], ['']]);
titles(byId('node-titles'), [['node'], ['state'], ['cores in use'], ['running', 'number'], ['waiting', 'number'], ['before'],
  ['failed', 'number'], ['elsewhere', 'number'], ['taken', 'number'], ['given', 'number'], ['ended', 'number'],
  ['canceled', 'number'], ['retried', 'number'], ['lost', 'number'], ['speed', 'number'], ['address']]);
titles(byId('task-titles'), [['task'], ['state'], ['what'], ['index', 'number'], ['node'], ['for', 'number'], ['start', 'number'], ['job'], ['why']]);
const begun = JSON.parse(byId('state').textContent);
show(begun);
showTasks([...begun.queues.running, ...begun.queues.leased, ...begun.queues.queued], begun.at_ms);
follow();
setTimeout(ask, ASK_EVERY_MS);
askTasksAgain();

// The page of a cluster: shows the state that came with it, then asks for news each second.

const ASK_EVERY_MS = 1000;
const QUERY = new URLSearchParams(location.search);

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
    ['moved', countText(sum(state.nodes, node => node.counts.n_moved_in))],
  ];
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
    cell(node.node, 'name'), state,
    element('td', {}, [element('div', { class: 'meter' }, [fill])]),
    cell(`${node.n_running}/${node.n_cores}`, 'number'),
    number(node.n_queued), element('td', {}, [past(queues)]), bad(node.counts.n_failed, 'poor'),
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

function taskRow(task, now) {
  return element('tr', { 'data-task': task.task }, [
    cell(task.task), tag(task.state, ''), cell(task.title, 'name'), cell(task.array_index ?? '', 'number'),
    cell(task.node ?? '', 'name'), cell(spanText(now - (task.started_ms ?? task.submitted_ms)), 'number'),
    cell(task.instance, 'number'), cell(task.why ?? '', 'name'),
  ]);
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

function show(state) {
  samples = samples.concat(state.history).slice(-N_SAMPLES_MAX);
  byId('node').textContent = state.node;
  showFacts(state);
  byId('note-rows').replaceChildren(...state.nodes.flatMap(notes));
  byId('chart').replaceChildren(course(samples));
  byId('node-rows').replaceChildren(...state.nodes.map(nodeRow));
  byId('move-rows').replaceChildren(...state.moves.map(moveRow));
  const { running, leased, queued } = state.queues;
  byId('task-rows').replaceChildren(...[...running, ...leased, ...queued].map(task => taskRow(task, state.at_ms)));
  root.dataset.updates = Number(root.dataset.updates ?? 0) + 1;
}

// Address of the news since the last update, with the key that this page was opened with.
function address() {
  const query = new URLSearchParams(QUERY);
  query.set('after', samples.length ? samples.at(-1).at_ms : 0);
  return `state.json?${query}`;
}

async function ask() {
  try {
    const answer = await fetch(address(), { cache: 'no-store', referrerPolicy: 'no-referrer' });
    if (!answer.ok) throw new Error(`it answers ${answer.status}`);
    show(await answer.json());
    byId('trouble').textContent = '';
  } catch (problem) {
    byId('trouble').textContent = `The daemon cannot be reached (${problem.message}); this is what it said last.`;
    root.dataset.trouble = problem.message;
  }
  setTimeout(ask, ASK_EVERY_MS);
}

titles(byId('node-titles'), [['node'], ['state'], ['cores in use'], ['running', 'number'], ['waiting', 'number'], ['before'],
  ['failed', 'number'], ['elsewhere', 'number'], ['taken', 'number'], ['given', 'number'], ['ended', 'number'],
  ['canceled', 'number'], ['retried', 'number'], ['lost', 'number'], ['speed', 'number'], ['address']]);
titles(byId('task-titles'), [['task'], ['state'], ['what'], ['index', 'number'], ['node'], ['for', 'number'], ['start', 'number'], ['why']]);
show(JSON.parse(byId('state').textContent));
setTimeout(ask, ASK_EVERY_MS);

// Jobs, and lists of tasks with a filter.

let jobs = [];
let listAfter;
let listOrder;
let listNext;

const home = () => byId('home').value;

// Range of the job that a task belongs to.
function jobOf(task) {
  const [, taskHome, number] = task.match(/^(.*)\.(\d+)$/) ?? [];
  const holds = range => {
    const [, ownHome, first, last] = range.match(/^(.*)\.(\d+)(?:-(\d+))?$/) ?? [];
    return ownHome === taskHome && Number(first) <= Number(number) && Number(number) <= Number(last ?? first);
  };
  return jobs.find(({ ranges }) => ranges.some(holds))?.tasks;
}

// Shares of a job's tasks, as one bar.
function progressBar(one) {
  const parts = [['succeeded', one.n_succeeded], ['failed', one.n_failed], ['canceled', one.n_canceled], ['running', one.n_running]];
  const pieces = parts.filter(([, n]) => n).map(([kind, n]) => {
    const piece = element('div', { class: kind });
    piece.style.width = `${100 * n / Math.max(1, one.n_tasks)}%`;
    return piece;
  });
  return element('div', { class: 'meter parts' }, pieces);
}

function jobRow(one) {
  const [median, most] = one.durations_ms;
  const n_ended = one.n_succeeded + one.n_failed + one.n_canceled;
  const n_open = one.n_queued + one.n_running;
  const orders = [];
  if (n_open) orders.push(cancelButton(one.tasks, n_open, one.ranges));
  if (one.n_failed) orders.push(rerunButton(one.tasks, 'failed', one.n_failed, one.ranges));
  const left = n_open ? (one.left_ms === null ? '' : `${spanText(one.left_ms)} left`) : 'ended';
  return element('tr', { 'data-job': one.tasks }, [
    linkCell(one.tasks, `tasks=${one.tasks}`, 'whole'), cell(one.name, 'name'),
    element('td', {}, [progressBar(one)]), cell(`${countText(n_ended)}/${countText(one.n_tasks)}`, 'number'),
    number(one.n_running), bad(one.n_failed, 'poor'), bad(one.n_canceled, 'fair'),
    cell(countText(one.n_again), `number minor ${one.n_again ? 'fair' : ''}`),
    cell(median === null ? '' : spanText(median), 'number minor'), cell(most === null ? '' : spanText(most), 'number minor'),
    cell(left, 'number'), cell(moment(one.submitted_ms), 'number minor'),
    element('td', { class: 'orders' }, orders),
  ]);
}

async function askJobs() {
  const answer = await fetched('jobs.json', { home: home() });
  ({ jobs } = answer);
  replace(byId('job-rows'), [...jobs].reverse().map(jobRow));
  small('jobs', answer.n_left_out ? `the newest; ${countText(answer.n_left_out)} older ones are left out` : '');
}

function small(section, text) {
  byId(section).querySelector('h2 small').textContent = text;
}

function taskRow(task, now) {
  const [style, words] = outcomeOf(task);
  const begun = task.started_ms ?? task.submitted_ms;
  const job = jobOf(task.task);
  return element('tr', { 'data-task': task.task }, [
    linkCell(task.task, `task=${task.task}`, 'whole'), tag(words, style), cell(task.title, 'name'), cell(task.array_index ?? '', 'number'),
    task.node ? linkCell(task.node, `on=${task.node}`, 'name') : cell(''),
    cell(spanText((task.ended_ms ?? now) - begun), 'number'), cell(task.instance, 'number'),
    job ? linkCell(job, `tasks=${job}`, 'whole') : cell(''), cell(task.why ?? '', 'name'),
  ]);
}

function showTasks(tasks, now) {
  replace(byId('task-rows'), tasks.map(task => taskRow(task, now)));
}

function filterValues() {
  const form = byId('filter').elements;
  const values = Object.fromEntries(['tasks', 'title', 'state', 'node'].map(name => [name, form[name].value.trim()]));
  // A range has its home in its name.
  return { ...values, home: values.tasks ? '' : home(), after: listAfter, order: listOrder };
}

async function askList() {
  const answer = await fetched('tasks.json', filterValues());
  showTasks(answer.tasks, answer.at_ms);
  listNext = answer.next;
  byId('list-next').disabled = listNext === null;
  byId('list-first').disabled = listAfter === undefined && listOrder === undefined;
  small('tasks', answer.tasks.length ? '' : 'none');
}

async function turnList(after, order) {
  listAfter = after;
  listOrder = order;
  await watched(askList);
}

byId('filter').addEventListener('submit', event => event.preventDefault());
byId('filter').addEventListener('input', () => turnList(undefined));
byId('list-first').addEventListener('click', () => turnList(undefined));
byId('list-next').addEventListener('click', () => turnList(listNext, listOrder));
byId('list-last').addEventListener('click', () => turnList(undefined, 'newest'));
byId('filter-clear').addEventListener('click', () => {
  byId('filter').reset();
  location.hash = '';
  resetGantt();
  turnList(undefined);
});

// Links of the page: a task, the tasks of a job, the tasks on a node.
function follow() {
  const [name, value] = decodeURIComponent(location.hash.slice(1)).split(/=(.*)/s);
  if (name === 'task') {
    showTask(value);
    return;
  }
  if (name !== 'tasks' && name !== 'on') return;
  byId('task').close();
  const form = byId('filter');
  form.reset();
  form.elements.state.value = '';
  const field = form.elements[name === 'on' ? 'node' : 'tasks'];
  field.value = value;
  resetGantt();
  turnList(undefined);
  byId('tasks').scrollIntoView();
}

addEventListener('hashchange', follow);
byId('task').addEventListener('close', () => {
  if (location.hash.startsWith('#task=')) history.replaceState(null, '', location.pathname + location.search);
});
byId('task-close').addEventListener('click', () => byId('task').close());

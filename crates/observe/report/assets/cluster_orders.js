// Data from the daemon, and orders to it: with the key that this page was opened with, after a question.

const QUERY = new URLSearchParams(location.search);

// Address of data, with the key.
function addressOf(path, values) {
  const query = new URLSearchParams(QUERY);
  for (const [name, value] of Object.entries(values)) if (value !== '' && value !== undefined) query.set(name, value);
  return `${path}?${query}`;
}

async function fetched(path, values = {}) {
  const answer = await fetch(addressOf(path, values), { cache: 'no-store', referrerPolicy: 'no-referrer' });
  if (!answer.ok) throw new Error((await answer.text()).trim() || `it answers ${answer.status}`);
  return answer.json();
}

async function order(path, body) {
  const headers = { Authorization: `Bearer ${QUERY.get('key') ?? ''}`, 'Content-Type': 'application/json' };
  const answer = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body), cache: 'no-store' });
  if (!answer.ok) throw new Error((await answer.text()).trim() || `it answers ${answer.status}`);
  return answer.json();
}

function notice(style, ...children) {
  byId('notice').className = style;
  byId('notice').replaceChildren(...children);
}

// Asks the user, then the daemon.
function confirmed(question, path, body, say) {
  const dialog = byId('confirm');
  byId('confirm-question').textContent = question;
  byId('confirm-yes').onclick = async () => {
    dialog.close();
    try {
      notice('good', ...say(await order(path, body)));
    } catch (problem) {
      notice('poor', problem.message);
    }
    askTasks();
  };
  byId('confirm-no').onclick = () => dialog.close();
  dialog.showModal();
}

const plural = (n, word) => (n === 1 ? `1 ${word}` : `${countText(n)} ${word}s`);

function cancelButton(tasks, n, ranges = [tasks]) {
  const question = `Cancel ${tasks}? ${plural(n, 'task')} that wait or run would be ended.`;
  const say = answer => [`${plural(answer.n_tasks, 'task')} of ${tasks} canceled`];
  return button('cancel', () => confirmed(question, 'cancel', { tasks: ranges }, say), { 'data-cancel': tasks });
}

function rerunButton(tasks, which, n, ranges = [tasks]) {
  const question = `Run ${plural(n, which === 'failed' ? 'failed task' : 'task')} of ${tasks} again, as new tasks?`;
  const say = answer => [`${tasks} runs again as `, ...answer.tasks.map(again => link(again, `tasks=${again}`))];
  return button('run again', () => confirmed(question, 'rerun', { tasks: ranges, which }, say), { 'data-rerun': tasks });
}

// Name of a task in the dialog that has not ended: what it writes is asked for again.
let watchedTask;

// Dialog with all that is known of a task.
async function showTask(name) {
  const body = byId('task-body');
  byId('task-name').textContent = name;
  watchedTask = undefined;
  try {
    const { status, because, steps, n_dropped_steps, output } = await fetched('task.json', { task: name });
    const [style, words] = outcomeOf(status);
    const job = jobOf(status.task);
    const facts = [element('span', { class: `tag ${style}` }, [words]), ` ${status.title}`];
    if (status.array_index !== null) facts.push(` [${status.array_index}]`);
    if (status.node) facts.push(' on ', link(status.node, `on=${status.node}`));
    if (job) facts.push(' of ', link(job, `tasks=${job}`));
    const orders = status.outcome ? rerunButton(name, 'all', 1) : cancelButton(name, 1);
    const parts = [element('p', {}, facts), element('p', {}, [orders])];
    if (status.why) parts.push(element('p', { class: 'poor' }, [status.why]));
    parts.push(element('ul', {}, because.map(sentence => element('li', {}, [sentence]))));
    const early = n_dropped_steps ? [element('li', {}, [`${n_dropped_steps} earlier events are not kept`])] : [];
    const rows = steps.map(step => element('li', {}, [element('time', {}, [clock(step.at_ms)]), ` ${step.what}`]));
    parts.push(element('ul', { class: 'plain' }, [...early, ...rows]));
    for (const stream of ['stdout', 'stderr']) {
      if (output?.[stream]) parts.push(element('h3', {}, [stream]), element('pre', {}, [output[stream]]));
    }
    if (output?.n_dropped_bytes) parts.push(element('p', { class: 'note' }, [`${bytesText(output.n_dropped_bytes)} of its output were not kept`]));
    body.replaceChildren(...parts);
    if (!status.outcome) watchedTask = name;
  } catch (problem) {
    body.replaceChildren(element('p', { class: 'poor' }, [problem.message]));
  }
  if (!byId('task').open) byId('task').showModal();
}

// Live parts, times that pass, and keys. Pages work without it.
'use strict';

(() => {
  const body = document.body;
  const all = (selector, from = document) => from.querySelectorAll(selector);

  // ---- Times ----

  // What the clock of this machine is ahead of the server's.
  const ahead = Date.now() / 1000 - Number(body.dataset.now || Date.now() / 1000);

  // The words are those of the server.
  const relative = (passed) => {
    const size = Math.floor(Math.abs(passed));
    if (size < 5) return 'now';
    const [seconds, unit] = size < 60 ? [1, 's'] : size < 3600 ? [60, 'min'] : size < 172800 ? [3600, 'h']
      : size < 63072000 ? [86400, 'd'] : [31536000, 'y'];
    const words = `${Math.floor(size / seconds)}\u00a0${unit}`;
    return passed > 0 ? `${words} ago` : `in ${words}`;
  };

  const tick = (from = document) => {
    const now = Date.now() / 1000 - ahead;
    for (const time of all('time[data-ago]', from)) {
      const words = relative(now - Date.parse(time.dateTime) / 1000);
      if (time.textContent !== words) time.textContent = words;
    }
  };

  setInterval(() => document.hidden || tick(), 10000);

  // ---- Live parts ----

  const url = body.dataset.liveUrl;
  // What the page has of its live parts, in the server's words.
  let seen = body.dataset.seen;
  const panel = document.getElementById('live');
  // What came and is not shown yet, by the region's name.
  const pending = new Map();
  let source = null;
  let retry = 0;
  let timer = 0;
  let lost = 0;

  const isRead = (region) => {
    const selection = getSelection();
    return (region.contains(document.activeElement) && document.activeElement !== region)
      || region.querySelector('details[open]') !== null
      || [...all('input', region)].some((field) => field.value !== field.defaultValue)
      || [...all('option[selected]', region)].some((option) => !option.selected)
      || (selection !== null && !selection.isCollapsed && region.contains(selection.anchorNode));
  };

  const show = () => {
    for (const [id, html] of pending) {
      const region = document.getElementById(id);
      if (region === null || !('live' in region.dataset)) {
        pending.delete(id);
        continue;
      }
      const held = isRead(region);
      region.classList.toggle('held', held);
      if (held) continue;
      pending.delete(id);
      const scrolled = [...all('.scroll', region)].map((part) => part.scrollLeft);
      region.innerHTML = html;
      all('.scroll', region).forEach((part, at) => { part.scrollLeft = scrolled[at] || 0; });
      tick(region);
    }
  };

  const say = (state, words) => {
    const place = panel.querySelector('.live-state');
    place.dataset.state = state;
    if (place.textContent !== words) place.textContent = words;
  };

  const stored = (value) => {
    try {
      if (value !== undefined) sessionStorage.setItem('turnstile-paused', value);
      return sessionStorage.getItem('turnstile-paused') === 'yes';
    } catch {
      return value === 'yes';
    }
  };
  let paused = stored();

  const stop = () => {
    clearTimeout(timer);
    clearTimeout(lost);
    lost = 0;
    if (source !== null) source.close();
    source = null;
  };

  const start = () => {
    stop();
    if (paused || document.hidden) return;
    source = new EventSource(`${url}${url.includes('?') ? '&' : '?'}seen=${seen}`);
    source.onopen = () => {
      retry = 0;
      clearTimeout(lost);
      lost = 0;
      say('live', 'Live');
    };
    source.onmessage = (event) => {
      seen = event.lastEventId;
      for (const [id, html] of Object.entries(JSON.parse(event.data))) pending.set(id, html);
      show();
    };
    source.onerror = () => {
      // The server ends what is open for long, and the browser is back soon.
      lost ||= setTimeout(say, 5000, 'lost', 'Connection lost, trying again');
      // A browser gives up when the answer is an error.
      if (source !== null && source.readyState === EventSource.CLOSED) {
        retry = Math.min(retry + 1, 5);
        say('lost', 'Connection lost, trying again');
        timer = setTimeout(start, 1000 * 2 ** retry);
      }
    };
  };

  const switched = () => {
    panel.querySelector('button').textContent = paused ? 'Resume' : 'Pause';
    if (paused) say('paused', 'Paused');
    else if (source === null) say('waiting', 'Connecting');
    start();
  };

  if (url !== undefined && panel !== null && 'EventSource' in window) {
    panel.hidden = false;
    panel.querySelector('button').addEventListener('click', () => {
      paused = stored(paused ? 'no' : 'yes');
      switched();
    });
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) stop();
      else start();
    });
    addEventListener('pagehide', stop);
    addEventListener('pageshow', (event) => event.persisted && start());
    // What was held is shown once nobody reads it.
    let soon = 0;
    const later = () => {
      clearTimeout(soon);
      if (pending.size > 0) soon = setTimeout(show, 200);
    };
    for (const kind of ['focusout', 'selectionchange']) document.addEventListener(kind, later);
    document.addEventListener('toggle', later, true);
    switched();
  }

  // ---- Keys ----

  const isTyped = (target) => target instanceof Element && target.closest('input, select') !== null;

  document.addEventListener('keydown', (event) => {
    const filter = document.querySelector('[data-filter]');
    if (filter === null || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === '/' && !isTyped(event.target)) {
      event.preventDefault();
      filter.focus();
      filter.select();
    } else if (event.key === 'Escape' && event.target === filter) {
      filter.blur();
    }
  });

  // ---- Forms ----

  const buttons = (form) => all('button', form);

  document.addEventListener('submit', (event) => {
    const form = event.target;
    if (!('busy' in form.dataset)) return;
    if (form.ariaBusy === 'true') {
      event.preventDefault();
      return;
    }
    form.ariaBusy = 'true';
    // A button that is disabled at once would not be sent.
    setTimeout(() => buttons(form).forEach((button) => { button.disabled = true; }));
  });

  addEventListener('pageshow', () => {
    for (const form of all('form[data-busy]')) {
      form.ariaBusy = null;
      buttons(form).forEach((button) => { button.disabled = false; });
    }
  });

  // ---- Values of a chart under the pointer ----

  const short = (value) => {
    const size = Math.abs(value);
    const digits = size < 10 ? 2 : size < 100 ? 1 : 0;
    return value.toLocaleString('en-US', { maximumFractionDigits: digits }).replaceAll(',', '\u202f');
  };

  // The points as [x, y] in the units of the drawing, 1000 wide and 100 high.
  const points = (line) => [...line.getAttribute('d').matchAll(/[ML]([\d.]+) ([\d.]+)/g)].map((found) => [+found[1], +found[2]]);

  const leave = (chart) => {
    chart.querySelector('.cross')?.remove();
    chart.querySelector('.readout').textContent = '';
  };

  document.addEventListener('pointermove', (event) => {
    const drawing = event.target instanceof Element ? event.target.closest('.plot svg') : null;
    for (const cross of all('.cross')) if (drawing === null || !drawing.contains(cross)) leave(cross.closest('.chart'));
    if (drawing === null) return;
    const box = drawing.getBoundingClientRect();
    const wanted = (event.clientX - box.left) / box.width * 1000;
    const lines = [...all('[data-name]', drawing)].map((line) => [line.dataset.name, points(line)]);
    const distance = (point) => Math.abs(point[0] - wanted);
    const nearest = (of) => of.reduce((best, point) => (best === null || distance(point) < distance(best) ? point : best), null);
    const found = nearest(lines.flatMap(([, of]) => of));
    if (found === null) return;
    const { from, to, top } = drawing.dataset;
    const at = new Date((+from + found[0] / 1000 * (to - from)) * 1000);
    const words = lines.map(([name, of]) => {
      const point = nearest(of);
      const known = point !== null && Math.abs(point[0] - found[0]) < 0.5;
      return `${name} ${known ? short((100 - point[1]) / 100 * top) : '–'}`;
    });
    const chart = drawing.closest('.chart');
    chart.querySelector('.readout').textContent = `${at.toLocaleTimeString()}: ${words.join(', ')}`;
    let cross = drawing.querySelector('.cross');
    if (cross === null) {
      cross = document.createElementNS('http://www.w3.org/2000/svg', 'path');
      cross.setAttribute('class', 'cross');
      drawing.append(cross);
    }
    cross.setAttribute('d', `M${found[0]} 0V100`);
  });
})();

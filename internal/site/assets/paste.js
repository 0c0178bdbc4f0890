// /paste/ and /change/: a text goes to the engine in a worker, and what comes back is shown. Whatever was pasted only ever
// becomes text here: it is neither markup, nor an address, nor sent.
(function () {
  'use strict';

  var root = document.body.dataset.root;
  var form = document.getElementById('paste'), box = document.getElementById('text'), old = document.getElementById('old');
  var status = document.getElementById('status'), out = document.getElementById('result'), stop = document.getElementById('stop');
  var MOST = 2 << 20, LOADING = 120, JUDGING = 30, ROWS = 400;
  var ANSWERS = {
    'works': 'works', 'works-minor-version': 'works (minor version)', 'works-forward-compat': 'works (forward compatibility)', 'works-cpu-only': 'works on the CPU only',
    'broken': 'broken', 'unknown': 'unknown'
  };
  var MARKS = { held: '✓', assumed: '✓', unseen: '?', broken: '✗' };
  var OUTCOMES = { compatible: 'good', incompatible: 'bad', inconclusive: '' };

  // visible returns a text whose control and direction characters are spelt out.
  function visible(s) {
    return String(s).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, function (c) {
      return '\\u' + ('000' + c.charCodeAt(0).toString(16)).slice(-4);
    });
  }

  function el(name, attributes) {
    var e = document.createElement(name);
    Object.keys(attributes || {}).forEach(function (k) {
      if (k === 'text') e.textContent = visible(attributes[k]);
      else e.setAttribute(k, attributes[k]);
    });
    for (var i = 2; i < arguments.length; i++) {
      var c = arguments[i];
      if (c) e.appendChild(typeof c === 'string' ? document.createTextNode(visible(c)) : c);
    }
    return e;
  }

  function list(x) { return Array.isArray(x) ? x : []; }
  function plural(n, word) { return n + ' ' + word + (n === 1 ? '' : 's'); }

  // ---- the engine

  var worker = null, loaded = false, waiting = null, count = 0;

  function ended(why) {
    if (worker) worker.terminate();
    worker = null;
    loaded = false;
    var w = waiting;
    waiting = null;
    if (w) { clearTimeout(w.timer); w.fail(new Error(why)); }
  }

  function limit(seconds, why) {
    clearTimeout(waiting.timer);
    waiting.timer = setTimeout(function () { ended(why); }, seconds * 1000);
  }

  function judging() {
    say('Judging …');
    limit(JUDGING, 'It was not judged in ' + JUDGING + ' seconds, and was ended. A shorter text may be judged; the program on a machine has more time.');
  }

  function begin() {
    worker = new Worker(root + 'assets/worker.js');
    worker.onerror = function (e) { e.preventDefault(); ended('The engine could not be loaded.'); };
    worker.onmessage = function (e) {
      var m = e.data;
      if (m.ready) { loaded = true; if (waiting) judging(); return; }
      if (m.failed === 'load') return ended('The engine could not be loaded (' + m.error + ').');
      if (!waiting || m.id !== waiting.id) return;
      if (m.failed) return ended(/out of memory|memory/i.test(m.error) ? 'The engine took all the memory that it may have, and was ended.' : 'The engine ended without an answer: it is a mistake of the program.');
      var w = waiting;
      waiting = null;
      clearTimeout(w.timer);
      w.done(JSON.parse(m.answer));
    };
  }

  function ask(request) {
    if (waiting) ended('Another text was given.');
    return new Promise(function (done, fail) {
      waiting = { id: ++count, done: done, fail: fail };
      if (!worker) begin();
      if (loaded) judging();
      else { say('Loading the engine, 5 MB, once …'); limit(LOADING, 'The engine was not loaded in ' + LOADING + ' seconds.'); }
      worker.postMessage({ id: waiting.id, request: request });
    });
  }

  // ---- the form

  // say says how it stands. What the result says itself is only spoken.
  function say(text, spoken) {
    status.className = spoken ? 'sr' : '';
    status.textContent = visible(text);
  }

  function large(size) {
    return size > MOST && 'The text has ' + (size / 1e6).toFixed(1) + ' MB, and a page judges up to 2 MB; the program reads more.';
  }

  function sizeOf(text) { return text.length > MOST ? text.length : new Blob([text]).size; }

  // A text that is too long for a box to show at once is held beside it.
  var HOLD = 200000, held = {};

  function put(area, text) {
    if (text.length <= HOLD) {
      held[area.id] = null;
      area.value = text;
      return;
    }
    held[area.id] = text;
    area.value = '';
    area.placeholder = 'A text of ' + (text.length / 1e6).toFixed(1) + ' MB is here. Paste another to replace it.';
  }

  function textOf(area) { return area && (held[area.id] || area.value) || ''; }

  function refuse(why) { out.hidden = true; out.textContent = ''; say(why); }

  // outdate marks the result as that of another text or machine than the form has now.
  function outdate() {
    if (out.hidden || out.className) return;
    out.className = 'old';
    out.insertBefore(el('p', { 'class': 'hint stale', text: 'What you gave has changed: this result is of what stood here before.' }), out.firstChild);
    say('The result is of what stood here before.', true);
  }

  function run() {
    var request = { text: textOf(box) }, before = textOf(old), why = large(sizeOf(request.text)) || large(sizeOf(before));
    if (why) return refuse(why);
    if (!/\S/.test(request.text) || old && !/\S/.test(before)) return refuse(old ? 'Give both texts.' : 'Paste a text first.');
    ['driver', 'gpu', 'instance', 'python', 'platform'].forEach(function (k) { if (form.elements[k].value.trim()) request[k] = form.elements[k].value.trim(); });
    if (old) { request.old = before; request.compare = true; }
    var fleet = !old && fleetOf(request.text);
    if (fleet) return show({ command: ['fleet', '-o', 'json'], document: fleet, error: '' }, request);
    stop.hidden = false;
    out.hidden = true;
    ask(request).then(function (answer) { show(answer, request); if (textOf(box) !== request.text) outdate(); }, function (e) { refuse(e.message); }).then(function () { stop.hidden = !waiting; });
  }

  // fleetOf is a text that fleet -o json wrote.
  function fleetOf(text) {
    if (!/^\s*\{\s*"schema":\s*"cudacompat\/fleet\/v1"/.test(text)) return null;
    try { return JSON.parse(text); } catch (e) { return null; }
  }

  function take(file, into) {
    var why = large(file.size);
    if (why) return refuse(why);
    file.text().then(function (text) { put(into, text); outdate(); if (!old) run(); }, function () { refuse('The file could not be read.'); });
  }

  [box, old].forEach(function (area) {
    if (!area) return;
    area.addEventListener('paste', function (e) {
      var text = e.clipboardData && e.clipboardData.getData('text'), why = text && large(text.length);
      if (why) { e.preventDefault(); return refuse(why); }
      if (text && text.length > HOLD) { e.preventDefault(); put(area, text); }
      if (!old) setTimeout(run, 0);
      else outdate();
    });
    area.addEventListener('input', function () { held[area.id] = null; });
    area.addEventListener('dragover', function (e) { e.preventDefault(); });
    area.addEventListener('drop', function (e) {
      if (e.dataTransfer.files.length) { e.preventDefault(); take(e.dataTransfer.files[0], area); }
    });
    area.addEventListener('keydown', function (e) { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) { e.preventDefault(); run(); } });
  });
  form.querySelectorAll('input[type=file]').forEach(function (input) {
    input.addEventListener('change', function () { if (input.files[0]) take(input.files[0], document.getElementById(input.dataset['for'] || 'text')); input.value = ''; });
  });
  form.addEventListener('input', outdate);
  form.addEventListener('submit', function (e) { e.preventDefault(); run(); });
  stop.addEventListener('click', function () { ended('Stopped.'); });

  // ---- the lines of the paste

  // Lines finds the line of a paste that says something, and remembers what each line decided.
  function Lines(text) {
    this.text = text;
    this.lines = text.split('\n');
    this.starts = [0];
    for (var i = 0; i < this.lines.length; i++) this.starts.push(this.starts[i] + this.lines[i].length + 1);
    this.decided = {};
  }

  Lines.prototype.at = function (offset) {
    var low = 0, high = this.lines.length - 1;
    while (low < high) {
      var middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= offset) low = middle; else high = middle - 1;
    }
    return low + 1;
  };

  // FACTS are the words by which reports call a fact.
  var FACTS = { 'torch cuda': ['cuda used', 'cuda'], 'module': ['driver'], 'libcuda': ['driver'], 'gpu': ['gpu', 'nvidia'], 'code': ['gpu'] };

  // find is the number of the line that says a value, 0 where none does. Where a fact has its line, that is it.
  Lines.prototype.find = function (fact, value, from) {
    var m = /\bline (\d+)\b/.exec(from || '');
    if (m) return +m[1] <= this.lines.length ? +m[1] : 0;
    if (/^--|target|file was given|table|\.csv/.test(from || '') || !value) return 0;
    var words = FACTS[fact.toLowerCase()] || fact.toLowerCase().split(/\s+/), best = 0, most = -1, n = 0;
    var short = String(value).replace(/ \([^)]*\)$/, '').split(', ')[0];
    if (short.length < 3) return 0;
    for (var at = this.text.indexOf(short); at >= 0 && n < 200; at = this.text.indexOf(short, at + 1), n++) {
      if (/[\w.]/.test(this.text.charAt(at - 1)) || /^(?:\w|\.\d)/.test(this.text.substr(at + short.length, 2))) continue;
      var line = this.at(at), lower = this.lines[line - 1].toLowerCase().slice(0, 500), score = 0;
      words.forEach(function (w, i) { if (lower.indexOf(w) >= 0) score += 10 - i; });
      if (score > most) { most = score; best = line; }
    }
    return best;
  };

  Lines.prototype.mark = function (line, what, id, broke) {
    if (!line) return 0;
    var d = this.decided[line] = this.decided[line] || [];
    if (!d.some(function (o) { return o.id === id; })) d.push({ what: what, id: id, broke: broke });
    return line;
  };

  Lines.prototype.numbers = function () { return Object.keys(this.decided).map(Number).sort(function (a, b) { return a - b; }); };

  // shown is the paste, with each line that decided something, and what it decided.
  Lines.prototype.shown = function () {
    var self = this, numbers = this.numbers(), section = el('section', { 'aria-label': 'The lines that decided' });
    if (!numbers.length) return null;
    section.appendChild(el('h2', { text: 'The lines that decided' }));
    var ol = el('ol', { 'class': 'pasted', tabindex: '0' }), last = 0, rows = 0;
    numbers.forEach(function (n) {
      for (var i = Math.max(last + 1, n - 2); i <= Math.min(n + 2, self.lines.length) && rows < ROWS; i++) {
        if (i > n && self.decided[i]) break;
        if (i > last + 1) ol.appendChild(el('li', { 'class': 'gap', text: '… ' + plural(i - last - 1, 'line') }));
        last = i;
        rows++;
        ol.appendChild(self.row(i));
      }
    });
    if (last < this.lines.length - 1) ol.appendChild(el('li', { 'class': 'gap', text: '… ' + plural(this.lines.length - last, 'line') }));
    section.appendChild(ol);
    return section;
  };

  Lines.prototype.row = function (n) {
    var decided = this.decided[n], text = this.lines[n - 1].replace(/\r$/, ''), why = null;
    if (decided) {
      why = el('span', { 'class': 'why' });
      decided.forEach(function (d) { why.appendChild(el('a', { href: '#' + d.id, text: d.what })); });
    }
    return el('li', { id: 'line-' + n, 'class': decided ? 'decided' + (decided.some(function (d) { return d.broke; }) ? ' broke' : '') : '' },
      el('span', { text: n }), el('code', { text: text.length > 500 ? text.slice(0, 500) + ' …' : text }), why);
  };

  function lineLink(n) { return n ? el('a', { href: '#line-' + n, text: 'line ' + n }) : null; }

  // ---- pieces

  function rule(id) {
    return /^[a-z][a-z0-9-]*$/.test(id) ? el('a', { href: root + 'rule/' + id + '/', text: id }) : el('span', { text: id });
  }

  function copier(text, words, name) {
    var b = el('button', { type: 'button', 'class': 'copy', text: words });
    if (name) b.setAttribute('aria-label', name);
    b.addEventListener('click', function () {
      var done = function (ok) { b.textContent = ok ? 'Copied' : 'Select it'; setTimeout(function () { b.textContent = words; }, 1500); };
      if (!navigator.clipboard) return done(false);
      navigator.clipboard.writeText(typeof text === 'function' ? text() : text).then(function () { done(true); }, function () { done(false); });
    });
    return b;
  }

  function command(text, why) {
    return el('div', { 'class': 'command' }, el('code', { text: text }), copier(text, 'Copy', 'Copy the command' + (why ? ' for ' + visible(why) : '')));
  }

  function steps(all, into) {
    list(all).forEach(function (s) {
      if (s.say) into.appendChild(el('p', { text: (s.or ? 'or ' : '') + s.say }));
      if (s.run) into.appendChild(command(s.run, s.say));
    });
  }

  function sources(all) {
    all = list(all);
    if (!all.length) return null;
    var ul = el('ul', { 'class': 'sources' });
    all.forEach(function (s) {
      ul.appendChild(el('li', {}, /^https:\/\/[\w.-]+\//.test(s) ? el('a', { href: s, rel: 'nofollow noreferrer', text: s.replace(/^https:\/\//, '') }) : el('code', { text: s })));
    });
    return el('details', {}, el('summary', { text: 'Sources' }), ul);
  }

  // link is one link of the proof: its mark, its name, what was compared and where it was read.
  function link(l, lines, name) {
    var id = 'link-' + (++link.count), li = el('li', { id: id }, el('span', { 'class': 'mark ' + (MARKS[l.state] ? l.state : ''), 'aria-hidden': 'true', text: MARKS[l.state] || '?' }),
      el('b', {}, name || l.link, el('span', { 'class': 'sr', text: ' (' + l.state + ')' })));
    var n = lines ? lines.mark(lines.find(l.link, l.value, l.from), l.link, id, l.state === 'broken') : 0;
    var what = el('span', { text: [l.value, l.gpu && l.gpu !== l.value && 'for ' + l.gpu].filter(Boolean).join(' ') });
    var from = l.state === 'assumed' ? 'assumed: ' + (l.from || 'not looked at') : l.from || '';
    if (from || n) { what.appendChild(el('span', { 'class': 'more', text: (what.textContent ? ', ' : '') + from + (n && from ? ', ' : '') })); if (n) what.appendChild(lineLink(n)); }
    list(l.because).forEach(function (r) { what.appendChild(document.createTextNode(' ')); what.appendChild(rule(r)); });
    li.appendChild(what);
    return li;
  }
  link.count = 0;

  // ---- a report

  var SEVERITIES = { error: 'Error', warning: 'Warning', note: 'Note' };

  function finding(f, n, lines) {
    var id = 'finding-' + n, card = el('section', { id: id, 'class': 'card finding ' + (SEVERITIES[f.severity] ? f.severity : '') });
    card.appendChild(el('h2', {}, (SEVERITIES[f.severity] || '') + ': ', rule(f.rule), f.target ? ' on ' + f.target : ''));
    card.appendChild(el('p', { 'class': 'what', text: f.message }));
    if (f.need && f.message.indexOf(f.need) < 0) card.appendChild(el('p', { text: 'It needs ' + f.need + '.' }));
    var ul = el('ul', { 'class': 'evidence' });
    list(f.evidence).forEach(function (e) {
      var line = lines.mark(lines.find(e.fact, e.value, e.from), f.rule, id, f.severity === 'error');
      ul.appendChild(el('li', {}, e.fact + ': ', el('code', { text: e.value }), e.from && !/^line \d+$/.test(e.from) ? ' (' + e.from + ')' : '', line ? ' ' : '', lineLink(line)));
    });
    if (ul.firstChild) card.appendChild(ul);
    list(f.pins).forEach(function (p) {
      card.appendChild(el('h3', { text: [p.package, p.version].filter(Boolean).join(' ') + (p.why ? ': ' + p.why : '') }));
      var tools = Object.keys(p.commands || {});
      if (tools[0]) card.appendChild(command(p.commands[tools[0]], tools[0]));
      if (tools[1]) {
        var rest = el('details', {}, el('summary', { text: 'with ' + tools.slice(1).join(', ') }));
        tools.slice(1).forEach(function (tool) { rest.appendChild(command(p.commands[tool], tool)); });
        card.appendChild(rest);
      }
      steps(p.steps, card);
    });
    steps(f.steps, card);
    var s = sources(f.source);
    if (s) card.appendChild(s);
    return card;
  }

  function headline(d) {
    var errors = list(d.findings).filter(function (f) { return f.severity === 'error'; }), worst = errors[0], open = list(d.unknown)[0];
    if (d.outcome === 'incompatible' && worst) return 'incompatible: ' + (/ /.test(worst.subject) && worst.message.indexOf(worst.subject) < 0 ? worst.subject + ': ' : '') + worst.message + bracketed(errors.length - 1, 'more error');
    if (d.outcome === 'inconclusive' && d.log) return 'inconclusive: the ' + d.log.blame + ' is at fault by the error in the text. ' + d.log.because;
    if (d.outcome === 'inconclusive' && open) return 'inconclusive: ' + [open.subject, open.missing].filter(Boolean).join(': ');
    if (d.outcome === 'inconclusive' && !list(d.answers).length && !worst) return 'inconclusive: there is nothing to compare. Say which machine it is for, below the text.';
    if (d.outcome === 'compatible') {
      var works = list(d.answers).filter(function (a) { return /^works/.test(a.answer); });
      var warnings = list(d.findings).filter(function (f) { return f.severity === 'warning'; }), but = partial(d);
      return (but ? 'compatible, but not with every GPU: ' + but.message : 'compatible') +
        (works.length ? (but ? '. ' : ': ') + works.slice(0, 3).map(function (a) { return a.subject + ' ' + ANSWERS[a.answer]; }).join('; ') : '') + bracketed(warnings.length - (but ? 1 : 0), 'warning');
    }
    return String(d.outcome);
  }

  // counted is how many findings have a severity, empty where none has.
  function counted(findings, severity) {
    var n = findings.filter(function (f) { return f.severity === severity; }).length;
    return n ? plural(n, severity) : '';
  }

  function bracketed(n, word) { return n > 0 ? ' (' + plural(n, word) + ')' : ''; }

  // partial is the warning that one of several kinds of GPU is of no use to a build, where there is one.
  function partial(d) {
    var gpus = [];
    list(d.judged).forEach(function (j) { list(j.gpus).forEach(function (g) { if (gpus.indexOf(g) < 0) gpus.push(g); }); });
    return gpus.length > 1 && list(d.findings).filter(function (f) {
      return f.severity === 'warning' && gpus.some(function (g) { return f.message.indexOf(g) >= 0; });
    })[0];
  }

  function chain(d, lines) {
    var section = el('section', {}, el('h2', { text: 'The chain' }));
    list(d.judged).forEach(function (j) {
      if (list(d.judged).length > 1 && j.target) section.appendChild(el('h3', { text: j.target }));
      var ul = el('ul', { 'class': 'chain' });
      list(j.links).forEach(function (l) { ul.appendChild(link(l, lines)); });
      section.appendChild(ul);
    });
    list(d.answers).forEach(function (a) {
      section.appendChild(el('h3', { text: a.subject + (a.target ? ' on ' + a.target : '') + ': ' + (ANSWERS[a.answer] || a.answer) }));
      var ul = el('ul', { 'class': 'chain' });
      list(a.links).forEach(function (l) { ul.appendChild(link(l, lines)); });
      section.appendChild(ul);
    });
    return section;
  }

  function report(d, lines) {
    var errors = list(d.findings).filter(function (f) { return f.severity === 'error'; }), n = 0;
    var others = list(d.findings).filter(function (f) { return f.severity !== 'error'; });
    out.appendChild(el('p', { 'class': 'verdict ' + (partial(d) ? '' : OUTCOMES[d.outcome] || ''), text: headline(d) }));
    var cards = el('div'), more = el('details', {}, el('summary', { text: [counted(others, 'warning'), counted(others, 'note')].filter(Boolean).join(', ') || plural(others.length, 'finding') }));
    errors.forEach(function (f) { cards.appendChild(finding(f, ++n, lines)); });
    if (d.log) cards.appendChild(logCard(d.log, lines, 'The error in the text'));
    others.forEach(function (f) { more.appendChild(finding(f, ++n, lines)); });
    if (others.length) cards.appendChild(more);
    if (list(d.unknown).length) {
      var ul = el('ul');
      d.unknown.forEach(function (u) { ul.appendChild(el('li', {}, [u.subject, u.missing].filter(Boolean).join(': ') + ' ', u.rule ? rule(u.rule) : null)); });
      cards.appendChild(el('section', {}, el('h2', { text: 'What is not known' }), ul));
    }
    var proof = chain(d, lines), shown = lines.shown();
    out.appendChild(cards);
    if (shown) out.appendChild(shown);
    out.appendChild(proof);
  }

  // ---- a log

  var BLAMED = { environment: 'The environment is at fault', program: 'The program is at fault', hardware: 'The hardware is at fault', none: 'Nothing is wrong', unknown: 'The log does not tell' };

  function logCard(d, lines, title) {
    var card = el('section', { id: 'log', 'class': 'card' }, el('h2', {}, title + ': ', el('span', { text: d.cause || 'unknown' })));
    card.appendChild(el('p', { 'class': 'what', text: (BLAMED[d.blame] || '') + (d.because ? '. ' + d.because : '') }));
    if (d.why) card.appendChild(el('p', { text: d.why }));
    var ul = el('ul', { 'class': 'evidence' });
    list(d.lines).forEach(function (l) {
      var n = l.number > 0 && l.number <= lines.lines.length ? lines.mark(l.number, d.cause || 'log', 'log', d.blame !== 'none') : 0;
      ul.appendChild(el('li', {}, lineLink(n), n ? ' ' : '', el('code', { text: String(l.text).slice(0, 500) })));
    });
    if (ul.firstChild) card.appendChild(ul);
    steps(d.steps, card);
    list(d.candidates).forEach(function (c) {
      card.appendChild(el('p', { text: 'It may be ' + c.cause + ' (' + c.blame + ')' + (c.fetch ? '; this would tell:' : '') }));
      if (c.fetch) card.appendChild(command(c.fetch, c.cause));
    });
    if (d.rule) card.appendChild(el('p', {}, 'The rule: ', rule(d.rule)));
    return card;
  }

  function diagnosis(d, lines) {
    out.appendChild(el('p', { 'class': 'verdict ' + (d.blame === 'environment' || d.blame === 'hardware' ? 'bad' : d.blame === 'none' ? 'good' : ''),
      text: (BLAMED[d.blame] || d.blame) + (d.cause ? ': ' + d.cause : '') }));
    out.appendChild(logCard(d, lines, 'Cause'));
    var n = 0;
    list(d.findings).concat(list(d.apart)).forEach(function (f) { out.appendChild(finding(f, ++n, lines)); });
    var shown = lines.shown();
    if (shown) out.appendChild(shown);
  }

  // ---- a fleet

  function fleet(d) {
    var rules = [], rows = [];
    list(d.kinds).forEach(function (k) { list(k.findings).forEach(function (f) { if (rules.indexOf(f.rule) < 0 && rules.length < 40) rules.push(f.rule); }); });
    list(d.kinds).forEach(function (k) { list(k.nodes).forEach(function (n) { rows.push({ node: n.node, kind: k }); }); });
    out.appendChild(el('p', { 'class': 'verdict ' + (OUTCOMES[d.outcome] || ''), text: d.outcome + ': ' + plural(rows.length, 'node') + ', ' + plural(rules.length, 'cause') }));
    var head = el('tr', {}, el('th', { scope: 'col', text: 'node' }), el('th', { scope: 'col', text: 'outcome' }), el('th', { scope: 'col', text: 'driver' }), el('th', { scope: 'col', text: 'GPUs' }));
    rules.forEach(function (r) { head.appendChild(el('th', { scope: 'col' }, rule(r))); });
    head.appendChild(el('th', { scope: 'col', text: 'not known' }));
    var body = el('tbody');
    rows.slice(0, ROWS).forEach(function (r) {
      var gpus = list(r.kind.gpus), kinds = gpus.filter(function (g, i) { return gpus.indexOf(g) === i; });
      var tr = el('tr', {}, el('th', { scope: 'row', text: r.node }), el('td', { text: r.kind.outcome }), el('td', { text: r.kind.driver || '' }),
        el('td', { text: kinds.map(function (g) { var n = gpus.filter(function (o) { return o === g; }).length; return (n > 1 ? n + ' × ' : '') + g; }).join(', ') }));
      rules.forEach(function (id) {
        var f = list(r.kind.findings).filter(function (f) { return f.rule === id; })[0];
        tr.appendChild(el('td', {}, f ? el('span', { 'class': 'mark ' + (f.severity === 'error' ? 'broken' : ''), text: { error: '✗', warning: '!', note: '·' }[f.severity] || '' }) : null,
          f ? el('span', { 'class': 'sr', text: ' ' + f.severity + ': ' + f.message }) : null));
      });
      tr.appendChild(el('td', { text: list(r.kind.unknown).map(function (u) { return u.missing || u.subject || u; }).slice(0, 2).join('; ') }));
      body.appendChild(tr);
    });
    out.appendChild(el('div', { 'class': 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Nodes and causes' }, el('table', {}, el('thead', {}, head), body)));
    if (rows.length > ROWS) out.appendChild(el('p', { text: 'The first ' + ROWS + ' of ' + rows.length + ' nodes. `cudacompat fleet -o csv` has all.' }));
    var causes = el('section', {}, el('h2', { text: 'Causes' }));
    list(d.groups).forEach(function (g) {
      if (!g.message) return;
      var card = el('section', { 'class': 'card' }, el('h3', {}));
      list(g.rules).forEach(function (r, i) { if (i) card.firstChild.appendChild(document.createTextNode(', ')); card.firstChild.appendChild(rule(r)); });
      card.appendChild(el('p', { 'class': 'what', text: g.message }));
      if (g.step) card.appendChild(el('p', { text: g.step }));
      card.appendChild(el('p', { 'class': 'more', text: list(g.nodes).slice(0, 20).join(', ') + (list(g.nodes).length > 20 ? ' and ' + (g.nodes.length - 20) + ' more' : '') }));
      causes.appendChild(card);
    });
    if (causes.childNodes.length > 1) out.appendChild(causes);
    list(d.unread).concat(list(d.missing)).slice(0, 50).forEach(function (u) { out.appendChild(el('p', { text: typeof u === 'string' ? 'No document: ' + u : 'Not read: ' + [u.node, u.document, u.reason].filter(Boolean).join(', ') })); });
  }

  // ---- a change

  var CHANGES = { lost: 'Lost', raised: 'Needs a newer driver', moved: 'Runs with other drivers', unknown: 'Not known any more', gained: 'Gained', lowered: 'Runs on an older driver' };

  function drivers(ranges) {
    if (!list(ranges).length) return 'no driver';
    return ranges.map(function (r) { return (r.from ? 'driver ' + r.from + ' or newer' : 'any driver') + (r.before ? ', before ' + r.before : ''); }).join('; ');
  }

  function change(d) {
    var diff = d.diff || {}, lost = list(diff.changes).filter(function (c) { return c.kind === 'lost'; }), raised = list(diff.changes).filter(function (c) { return c.kind === 'raised'; });
    var broken = list(diff.targets).filter(function (t) { return t.old && !t.new && !t.unknown; });
    var unknown = list(diff.changes).concat(list(diff.targets)).some(function (c) { return c.kind === 'unknown' || c.unknown; }) || list(d.unknown).length || list(diff.old_unknown).length;
    var runs = list(d.gpus).some(function (g) { return list(g.drivers).length; });
    var text = 'No GPU is lost, and no driver is raised';
    if (broken.length) text = 'Lost: ' + broken.map(function (t) { return t.target; }).join('; ');
    else if (lost.length) text = 'GPUs are lost: compute capability ' + caps(lost) + (raised.length ? '; a newer driver is needed on ' + caps(raised) : '');
    else if (raised.length) text = 'No GPU is lost; a newer driver is needed on compute capability ' + caps(raised);
    else if (unknown) text = 'It is not known whether a GPU is lost or a driver raised';
    else if (!runs) text = 'The new one runs on no GPU in the tables, and neither did the old one';
    out.appendChild(el('p', { 'class': 'verdict ' + (lost.length || broken.length ? 'bad' : raised.length || unknown || !runs ? '' : 'good'), text: text }));
    if (list(diff.targets).length) {
      var t = el('ul');
      diff.targets.forEach(function (x) {
        t.appendChild(el('li', { text: x.target + ': ' + (x.old ? 'ran the old one' : 'did not run the old one') + ', ' + (x.unknown ? 'and it is not known whether it runs the new one' : x.new ? 'runs the new one' : 'does not run the new one') }));
      });
      out.appendChild(el('section', {}, el('h2', { text: 'The machines that were named' }), t));
    }
    list(diff.changes).forEach(function (c) {
      var card = el('section', { 'class': 'card' }, el('h2', { text: (CHANGES[c.kind] || c.kind) + ': compute capability ' + list(c.compute_capabilities).join(', ') }));
      card.appendChild(el('p', { 'class': 'what', text: drivers(c.old) + ' → ' + drivers(c.new) }));
      var gpus = list(c.gpus), names = el('p', { text: gpus.slice(0, 6).join(', ') });
      card.appendChild(names);
      if (gpus.length > 6) card.appendChild(el('details', {}, el('summary', { text: gpus.length - 6 + ' more GPUs' }), el('p', { text: gpus.slice(6).join(', ') })));
      list(c.because).forEach(function (b) {
        card.appendChild(el('p', {}, b.subject + ' needs ' + (b.need || b.missing) + ' (', rule(b.rule), b.row ? ', ' + b.row : '', ')'));
        var s = sources(b.source);
        if (s) card.appendChild(s);
      });
      out.appendChild(card);
    });
    list(diff.images).forEach(function (i) {
      out.appendChild(el('p', { text: i.new + ' asks for ' + (i.new_require || 'nothing') + '; ' + i.old + ' asked for ' + (i.old_require || 'nothing') + '.' }));
    });
    var open = list(d.unknown).concat(list(diff.old_unknown));
    if (open.length) {
      var ul = el('ul');
      open.forEach(function (u) { ul.appendChild(el('li', { text: [u.subject, u.missing].filter(Boolean).join(': ') })); });
      out.appendChild(el('section', {}, el('h2', { text: 'What is not known' }), ul));
    }
  }

  function caps(changes) {
    var all = [];
    changes.forEach(function (c) { list(c.compute_capabilities).forEach(function (v) { if (all.indexOf(v) < 0) all.push(v); }); });
    return all.sort(function (a, b) { return parseFloat(a) - parseFloat(b); }).join(', ');
  }

  // ---- as Markdown, for an issue

  // plain escapes what Markdown would take for its own, and leaves nobody named by an @.
  function plain(s) { return visible(s).replace(/[\\`*_{}\[\]<>#|~!]/g, '\\$&').replace(/@/g, '@\u2060').replace(/\s+/g, ' '); }

  function code(s) {
    s = visible(s).replace(/\s+/g, ' ');
    var ticks = '`';
    while (s.indexOf(ticks) >= 0) ticks += '`';
    return ticks + (ticks.length > 1 ? ' ' + s + ' ' : s) + ticks;
  }

  function fenced(s) {
    s = visible(s);
    var ticks = '```';
    while (s.indexOf(ticks) >= 0) ticks += '`';
    return ticks + '\n' + s + '\n' + ticks;
  }

  function markdownSteps(all, to) {
    list(all).forEach(function (s) {
      to.push('- ' + (s.or ? 'or ' : '') + plain(s.say || ''));
      if (s.run) to.push('', fenced(s.run), '');
    });
  }

  function markdown(d, lines, answer) {
    var to = [];
    if (d.outcome && !d.kinds) {
      to.push('**' + plain(headline(d)) + '**', '');
      list(d.findings).forEach(function (f) {
        if (f.severity === 'note') return;
        to.push('### ' + plain(f.severity) + ': ' + code(f.rule), '', plain(f.message) + (f.need && f.message.indexOf(f.need) < 0 ? '. It needs ' + plain(f.need) + '.' : ''), '');
        list(f.evidence).forEach(function (e) { to.push('- ' + plain(e.fact) + ': ' + code(e.value) + (e.from ? ' (' + plain(e.from) + ')' : '')); });
        list(f.pins).forEach(function (p) {
          to.push('', plain([p.package, p.version].join(' ') + (p.why ? ': ' + p.why : '')) + '', '');
          Object.keys(p.commands || {}).slice(0, 1).forEach(function (t) { to.push(fenced(p.commands[t])); });
        });
        if (list(f.steps).length) to.push('');
        markdownSteps(f.steps, to);
        to.push('');
      });
      list(d.answers).forEach(function (a) {
        to.push('- ' + plain(a.subject) + ': ' + plain(ANSWERS[a.answer] || a.answer) + ' (' + list(a.links).map(function (l) { return plain(l.link) + ' ' + (MARKS[l.state] || '?'); }).join(', ') + ')');
      });
      if (d.log) markdownLog(d.log, to);
    } else if (d.blame) markdownLog(d, to);
    else if (d.kinds) list(d.groups).forEach(function (g) { to.push('- ' + plain(g.outcome) + ': ' + list(g.nodes).slice(0, 20).map(code).join(', ') + (g.message ? ': ' + plain(g.message) : '')); });
    else if (d.diff) list(d.diff.changes).forEach(function (c) { to.push('- ' + plain(c.kind) + ': compute capability ' + plain(list(c.compute_capabilities).join(', ')) + ': ' + plain(drivers(c.old)) + ' → ' + plain(drivers(c.new))); });
    to.push('', '<sub>' + plain('cudacompat ' + answer.command[0] + (d.tool ? ', tables of ' + d.tool.matrix : '')) + '</sub>', '');
    return to.join('\n').replace(/\n{3,}/g, '\n\n');
  }

  function markdownLog(d, to) {
    to.push('**' + plain((BLAMED[d.blame] || d.blame) + (d.cause ? ': ' + d.cause : '')) + '**', '', plain([d.because, d.why].filter(Boolean).join(' ')), '');
    if (list(d.lines).length) to.push(fenced(d.lines.slice(0, 5).map(function (l) { return 'line ' + l.number + ': ' + String(l.text).slice(0, 300); }).join('\n')), '');
    markdownSteps(d.steps, to);
  }

  // ---- what is shown

  function show(answer, request) {
    out.textContent = out.className = '';
    link.count = 0;
    var d = answer.document, lines = new Lines(request.compare ? '' : request.text);
    if (!d) {
      var words = String(answer.error).split('\nhint: '), why = words[0].replace(/^"-": /, 'The text: '), hint = (words[1] || '').replace('; - is standard input', '');
      if (/more than \d+ are not read/.test(why)) hint = 'Paste less: of a log the part from the first error on, of a list the packages that use the GPU.';
      out.hidden = false;
      out.appendChild(el('p', { 'class': 'verdict', text: why }));
      if (hint) out.appendChild(el('p', { text: hint.charAt(0).toUpperCase() + hint.slice(1) }));
      return say('It was not judged. ' + why, true);
    }
    if (answer.command[0] === 'fleet') fleet(d);
    else if (answer.command[0] === 'explain') diagnosis(d, lines);
    else if (answer.command[0] === 'requires') change(d);
    else report(d, lines);
    var bar = el('div', { 'class': 'bar' }, copier(function () { return markdown(d, lines, answer); }, 'Copy as Markdown'), copier(function () { return JSON.stringify(d, null, 2); }, 'Copy the JSON'));
    out.insertBefore(bar, out.childNodes[1] || null);
    if (answer.code !== undefined) out.appendChild(el('p', { 'class': 'more' }, 'The same as ', el('code', { text: 'cudacompat ' + answer.command.join(' ').replace(/ --no-here/, '') })));
    out.hidden = false;
    say('Judged. ' + out.querySelector('.verdict').textContent.slice(0, 160), true);
  }

  form.hidden = false;
})();

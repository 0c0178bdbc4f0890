// The start page: one box, what was understood of it as chips, and the answers below, without anything to press.
(function () {
  'use strict';

  var root = document.body.dataset.root;
  var form = document.getElementById('ask'), box = document.getElementById('box'), chips = document.getElementById('chips');
  var notes = document.getElementById('notes'), out = document.getElementById('answer'), start = document.getElementById('start');
  var wrong = document.getElementById('wrong'), wrongBase = wrong && wrong.href;
  var data = null, pythons = {}, needs = {}, question = {}, asks = [], said = [];

  var HEADS = {
    'keep-driver': 'Keep the driver', 'forward-compat': 'Keep the driver, with cuda-compat', 'smallest-driver': 'Change the driver as little as possible',
    'newest': 'Newest', 'together': 'Everything in one set'
  };
  var TOOLS = { pip: 'pip', uv: 'uv', apt: 'apt', dnf: 'dnf', runfile: 'runfile' };
  var KINDS = { release: 'release', driver: 'driver', gpu: 'GPU', instance: 'instance', python: 'Python', platform: 'system' };
  var ENDS = { 'gpu-arch-missing': 'it has no code for this GPU', 'cpu-only-build': 'it has no CUDA code', 'known-bad': 'it is known not to work' };

  function el(name, attributes) {
    var e = document.createElement(name);
    Object.keys(attributes || {}).forEach(function (k) {
      if (k === 'text') e.textContent = attributes[k];
      else e.setAttribute(k, attributes[k]);
    });
    for (var i = 2; i < arguments.length; i++) {
      var c = arguments[i];
      if (c) e.appendChild(typeof c === 'string' ? document.createTextNode(c) : c);
    }
    return e;
  }

  function link(path, words) { return el('a', { href: root + path, text: words }); }

  // slug is a name as addresses have it; the pages' own are made alike.
  function slug(name) { return name.toLowerCase().replace(/[^a-z0-9._]+/g, '-').replace(/^-|-$/g, ''); }

  // ---- the question

  function named(q) { return q.driver || q.gpu || q.instance; }

  function go(q, push) {
    question = q = lookup.settle(q);
    var address = lookup.address(q) || location.pathname;
    if (push) history.pushState(q, '', address);
    else history.replaceState(q, '', address);
    show();
  }

  function typed() {
    var text = box.value;
    var r = data.read(text), q = {};
    ['driver', 'gpu', 'instance', 'python', 'platform'].forEach(function (k) { if (r[k]) q[k] = r[k]; });
    q.want = r.want || question.want;
    if (r.release) q.release = r.release + (r.build && (r.want || 'torch') === 'torch' ? '+cu' + r.build.replace('.', '') : '');
    q.platform = r.platform || (lookup.windowsOnly(question.driver) ? undefined : question.platform);
    if (q.instance) delete q.gpu;
    asks = r.asks;
    said = [];
    if (r.build && !(r.release && named(q))) said.push(buildNote(r, q));
    if (!r.platform && lookup.windowsOnly(q.driver)) said.push(el('span', {}, q.driver + ' is a driver for Windows, so Windows is assumed.'));
    if (r.cuda && text.trim()) said.push(el('span', {}, 'CUDA ' + r.cuda + ' is not used: it is the CUDA that the driver or a build was made with, not a ceiling. ', link('rule/minor-compat/', 'Why'), '. Which builds run on which GPU: ', link('grid/?builds=any', 'the grid'), '.'));
    if (r.release && !named(q)) said.push(el('span', {}, link(q.want + '/' + r.release + '/', 'What ' + q.want + ' ' + r.release + ' needs'), ': its driver, GPUs and Python. Below is what runs at all.'));
    if (r.eks && !q.instance) said.push(el('span', {}, 'EKS\u2019s NVIDIA AMIs bring the driver. Those from v20260917 on hold a long-term and a newer one and take one at boot by the instance type (',
      link('rule/driver-missing/', 'how'), '). Add the instance type, such as g6.xlarge, for what ' + (q.want || 'torch') + ' needs there.'));
    if (r.xid) said.push(el('span', {}, link('xid/' + r.xid + '/', 'Xid ' + r.xid), ': what it means and what to do.'));
    if (r.error) said.push(el('span', {}, link('error/' + slug(r.error) + '/', 'Error ' + r.error), ': what it means and what to do.'));
    if (r.want && !named(q) && !r.release && !asks.length && !r.eks) said.push(el('span', {}, 'Below is the newest ' + r.want + ' by driver and GPU. Add a GPU or an instance type for the commands.'));
    else if (text.trim() && !named(q) && !asks.length && !r.eks && !r.xid && !r.error && !r.release && !r.build) {
      said.push(el('span', {}, 'No driver, GPU or instance type was recognised. Examples: “550.90.07 L4”, “p5.48xlarge”, “RTX 5090 driver 570”. ',
        link('things/?q=' + encodeURIComponent(text.trim().slice(0, 60)), 'Search all pages'), '.'));
    }
    go(q, false);
  }

  // buildNote says what a build for a CUDA, "cu130", needs of the driver and of the GPU.
  function buildNote(r, q) {
    var f = data.floor(r.build), note = el('span');
    if (!f) { note.textContent = 'CUDA ' + r.build + ' is not known.'; return note; }
    note.textContent = 'A build for CUDA ' + r.build + ' needs driver ' + f[1] + ' or newer' + (!q.driver ? '.' : lookup.compare(q.driver, f[0]) < 0 ?
      ': it does not run on ' + q.driver + ', unless a cuda-compat package lifts a data-centre GPU.' : ': ' + q.driver + ' is new enough.');
    var host = q.platform !== 'windows' && (q.want || 'torch') === 'torch' && data.host(q);
    var address = 'grid/?' + [q.driver && 'driver=' + q.driver, q.gpu && 'gpu=' + encodeURIComponent(q.gpu).replace(/%20/g, '+'), 'builds=any'].filter(Boolean).join('&');
    note.appendChild(document.createTextNode(' '));
    note.appendChild(link(address, 'All builds by GPU'));
    if (!host) return note;
    fetch(root + 'grid.json').then(function (g) { return g.json(); }).then(function (grid) {
      var b = lookup.builtFor(grid, [host.gpu].concat(data.alike(host)), r.build, r.release);
      if (b && !b.works) note.insertBefore(el('strong', { text: 'torch ' + b.release + ' has no code for ' + host.label + ': no driver runs it there. ' }), note.firstChild);
      else if (b) note.insertBefore(document.createTextNode('torch ' + b.release + ' runs on ' + host.label + (b.from ? ' with driver ' + b.from + ' or newer' : '') + '. '), note.firstChild);
    }).catch(function () { /* the link has it */ });
    return note;
  }

  // ---- what is shown

  function show() {
    chipsShown();
    document.querySelectorAll('#wants button').forEach(function (b) {
      b.setAttribute('aria-pressed', String(b.dataset.want === (question.want || 'torch')));
    });
    document.querySelectorAll('#systems button').forEach(function (b) {
      b.setAttribute('aria-pressed', String(b.dataset.platform === (question.platform || 'linux')));
    });
    var list = said.slice();
    out.textContent = '';
    var python = question.python || lookup.DEFAULTS.python;
    if (named(question)) {
      start.hidden = true;
      out.hidden = false;
      withPython(python, function (d) { answer(d, list); });
    } else {
      start.hidden = false;
      out.hidden = true;
      document.querySelectorAll('#start details').forEach(function (d) {
        d.open = d.dataset.want === question.want;
        start.insertBefore(d, d.open ? start.firstChild : start.lastElementChild); // the wanted one is above torch's
      });
    }
    notesShown(list);
    if (wrong) wrong.href = wrongBase + encodeURIComponent(' ' + lookup.command(question));
    document.title = (named(question) ? words(question) + ' · ' : '') + 'Which build runs on my driver and GPU? · cudacompat';
  }

  function words(q) {
    return [(q.want || 'torch') + (q.release ? ' ' + q.release : ''), 'for', [q.instance || q.gpu, q.driver && 'driver ' + q.driver].filter(Boolean).join(', ')].join(' ');
  }

  function notesShown(list) {
    notes.textContent = '';
    list.forEach(function (n) { notes.appendChild(n); });
    notes.hidden = !list.length;
  }

  function chipsShown() {
    chips.textContent = '';
    Object.keys(KINDS).forEach(function (k) {
      if (!question[k]) return;
      var remove = el('button', { type: 'button', 'aria-label': 'Remove ' + KINDS[k] + ' ' + question[k], text: '×' });
      remove.addEventListener('click', function () {
        var q = Object.assign({}, question);
        delete q[k];
        box.value = '';
        asks = []; said = [];
        go(q, true);
        box.focus();
      });
      var kind = k === 'release' ? question.want || 'torch' : KINDS[k];
      chips.appendChild(el('span', { 'class': 'chip' }, el('span', {}, kind + ' ', el('b', { text: question[k] })), remove));
    });
    asks.forEach(function (a) {
      var line = el('span', { 'class': 'ask' }, a.kind === 'gpu' ? 'Which GPU is “' + a.said + '”?' : 'Which number is the driver?');
      a.options.forEach(function (o) {
        var b = el('button', { type: 'button', text: lookup.short(o) });
        b.addEventListener('click', function () {
          var q = Object.assign({}, question);
          q[a.kind] = lookup.short(o);
          asks = asks.filter(function (x) { return x !== a; });
          go(q, true);
        });
        line.appendChild(b);
      });
      chips.appendChild(line);
    });
  }

  function withPython(python, then) {
    var windows = question.platform === 'windows', key = windows ? 'windows' : python;
    if (!windows && python === data.json.python) return then(data);
    function none() {
      out.textContent = '';
      out.appendChild(el('p', {}, 'This page has no answers for Python ' + python + (windows ? ' on Windows' : '') + '. The program has: ', el('code', { text: lookup.command(question) })));
    }
    if (windows ? python !== data.json.python : (data.json.pythons || []).indexOf(python) < 0) return none();
    if (pythons[key]) return then(pythons[key]);
    fetch(root + 'assets/space-' + encodeURIComponent(key) + '.json').then(function (r) {
      if (!r.ok) throw new Error();
      return r.json();
    }).then(function (json) {
      pythons[key] = new lookup.Data(json);
      if ((question.platform === 'windows') === windows) then(pythons[key]);
    }).catch(none);
  }

  function answer(d, list) {
    out.textContent = '';
    var q = question, want = q.want || 'torch';
    if (q.platform === 'wsl') {
      out.appendChild(el('p', {}, 'WSL2 is not answered here: it runs the wheels for Linux on Windows\u2019 driver, whose numbers are others. Paste its report into ', el('code', { text: 'cudacompat check -' }), '.'));
      return;
    }
    var host = d.host(q);
    if (host === undefined) {
      var name = q.instance || q.gpu;
      out.appendChild(el('p', {}, el('strong', { text: name }), q.platform === 'windows' && data.host(q) ? ' has no Windows in the tables. ' : ' is not known: no table has it. ', link('things/?q=' + encodeURIComponent(name), 'Search for a name like it'), '.'));
      return;
    }
    if (host === null) {
      out.appendChild(el('p', {}, 'Which GPU? The answer depends on it. Type its name above, or find it here:'));
      start.hidden = false;
      if (q.driver) driverNotes(d, q.driver, null);
      return;
    }
    if (q.driver && !/^\d{3,4}(\.\d+){0,2}$/.test(q.driver) && !d.json.images[q.driver]) {
      out.appendChild(el('p', {}, el('strong', { text: q.driver }), ' is not a driver version such as 550.90.07.'));
      return;
    }
    if (q.driver && q.platform !== 'windows' && !d.json.images[q.driver] && !d.branch(q.driver)) {
      out.appendChild(el('p', {}, 'Driver branch ', el('strong', { text: q.driver.split('.')[0] }), ' is not known: the tables have no row of it. What follows compares its number alone.'));
    }
    if (q.release && q.platform !== 'windows') releaseCard(q, want, host);
    var a = d.answer(q), shown = {};
    ['keep-driver', 'forward-compat', 'smallest-driver', 'newest'].forEach(function (choice) {
      var set = a.sets.filter(function (s) { return s.choice === choice; })[0];
      var none = a.missing.filter(function (m) { return m.choice === choice; })[0];
      if (set) card(choice, set, shown);
      else if (none && !(choice === 'keep-driver' && !q.driver)) noneCard(choice, none);
    });
    if (!q.driver) out.insertBefore(bandsOf(d, want, host), q.release ? out.firstChild.nextSibling : out.firstChild);
    breaks(d, q, want, host, a);
    out.appendChild(el('p', { 'class': 'more' }, 'The same as ', el('code', { text: lookup.command(Object.assign({}, q, { release: undefined })) })));
  }

  // headOf is the heading of a set. Without a driver there is none to change.
  function headOf(choice) { return choice === 'smallest-driver' && !question.driver ? 'The lowest driver' : HEADS[choice]; }

  // releaseCard says which drivers the named release needs, and whether it runs on the reader's.
  function releaseCard(q, want, host) {
    var c = el('section', { 'class': 'card' }, el('h2', { text: want + ' ' + q.release + ' on ' + host.label }));
    out.appendChild(c);
    if (needs[want]) return releaseShown(c, q, want, host);
    c.appendChild(el('p', { 'class': 'why', text: 'Loading …' }));
    fetch(root + 'assets/needs-' + want + '.json').then(function (r) { return r.json(); }).then(function (json) {
      needs[want] = json;
      c.removeChild(c.lastChild);
      releaseShown(c, q, want, host);
    }).catch(function () { c.lastChild.textContent = 'What this release needs could not be loaded.'; });
  }

  function releaseShown(c, q, want, host) {
    var builds = lookup.releases(needs[want], data.host(q), q.release, data.json.images[q.driver] || q.driver);
    var runs = builds.filter(function (b) { return b.runs; })[0], maybe = builds.filter(function (b) { return b.runs === undefined; })[0];
    var some = runs || maybe;
    c.appendChild(el('p', { 'class': 'what', text: !builds.length ? 'The tables do not have this release' : runs ? 'Runs on driver ' + q.driver :
      q.driver ? (maybe ? 'Not known on driver ' + q.driver : 'Does not run on driver ' + q.driver) :
        maybe ? maybe.drivers.length ? 'Needs ' + drivers(maybe.drivers) : 'Not known' : 'No driver runs it here' }));
    var ul = el('ul');
    builds.forEach(function (b) {
      ul.appendChild(el('li', { text: (b.variant === 'pypi' || b.variant === 'gpu' ? 'its wheel' : b.variant) + ': ' + (b.absent ? 'there is no build for this platform' :
        b.drivers.length ? drivers(b.drivers) + (b.undecided.length ? '; not known on ' + drivers(b.undecided) : '') :
        b.undecided.length ? 'not known on ' + drivers(b.undecided) + ': its machine code was not read' :
        'no driver: ' + b.because.map(function (id) { return ENDS[id] || id; }).join(', ')) + '.' }));
    });
    if (builds.length) c.appendChild(ul);
    if (some && some.command) commandLine(c, 'pip', some.command);
    c.appendChild(el('p', { 'class': 'why' }, 'With all companions: ', el('code', { text: lookup.command(q) }), '. ',
      builds.length ? link(want + '/' + builds[0].release + '/', 'More about this release') : link(want === 'torch' ? 'things/?q=torch' : want + '/', 'The releases that the tables have'), '. Below is the newest that runs.'));
  }

  // drivers is a list of stretches in words.
  function drivers(list) {
    return 'driver ' + list.map(function (s) {
      return (s.from ? s.from + ' or newer' : 'any') + (s.before ? ', before ' + s.before : '');
    }).join('; ');
  }

  function card(choice, set, shown) {
    var key = JSON.stringify([set.driver, set.packages]);
    if (shown[key] && choice !== 'forward-compat') {
      out.appendChild(el('section', { 'class': 'card' }, el('h2', { text: headOf(choice) }), el('p', { 'class': 'why', text: 'The same as “' + headOf(shown[key]) + '”: ' + set.why + '.' })));
      return;
    }
    shown[key] = shown[key] || choice;
    var name = set.packages[0].split('==');
    var c = el('section', { 'class': 'card' }, el('h2', { text: headOf(choice) }),
      el('p', { 'class': 'what', text: name.join(' ') + (set.driver ? ' on driver ' + set.driver : '') }),
      el('p', { 'class': 'why', text: set.why.charAt(0).toUpperCase() + set.why.slice(1) + '.' }));
    var rows = ['apt', 'dnf', 'runfile'].filter(function (t) { return set.commands[t]; });
    if (rows.length) {
      c.appendChild(el('h3', { text: set.driver ? 'Get the driver in one of these ways, then reboot' : 'Install cuda-compat in one of these ways' }));
      commandLine(c, rows[0], set.commands[rows[0]]);
      var others = el('details', {}, el('summary', { text: 'Other ways: ' + rows.slice(1).concat(set.steps.length ? ['another image'] : []).join(', ') }));
      rows.slice(1).forEach(function (t) { commandLine(others, t, set.commands[t]); });
      set.steps.forEach(function (s) { others.appendChild(el('p', { 'class': 'why', text: (s.or ? 'Or ' : '') + (s.say || s.run) + '.' })); });
      if (others.childNodes.length > 1) c.appendChild(others);
      c.appendChild(el('h3', { text: 'Then install, with pip or uv' }));
    } else if (set.driver) {
      set.steps.forEach(function (s) { c.appendChild(el('p', { text: 'First ' + (s.say || s.run) + ', and restart.' })); });
    }
    ['pip', 'uv'].forEach(function (t) { if (set.commands[t]) commandLine(c, t, set.commands[t]); });
    set.lacks.forEach(function (l) { c.appendChild(el('p', { 'class': 'why', text: l })); });
    if (set.source.length) c.appendChild(sources(set.source));
    out.appendChild(c);
  }

  function noneCard(choice, none) {
    out.appendChild(el('section', { 'class': 'card none' }, el('h2', { text: headOf(choice) }),
      el('p', { 'class': 'what', text: choice === 'keep-driver' ? 'Nothing keeps this driver' : 'None' }), el('p', { 'class': 'why', text: none.why.charAt(0).toUpperCase() + none.why.slice(1) + '.' }),
      none.source.length ? sources(none.source) : null));
  }

  function sources(list) {
    var ul = el('ul', { 'class': 'sources' });
    list.forEach(function (s) {
      ul.appendChild(el('li', {}, /^https:/.test(s) ? el('a', { href: s, rel: 'noreferrer', text: s }) : el('code', { text: s })));
    });
    return el('details', {}, el('summary', { text: 'Sources' }), ul);
  }

  // commandLine shows a command, without the comment that stands behind it, and a button that copies it.
  function commandLine(parent, tool, text) {
    var cut = text.split('  # '), command = cut[0];
    var label = TOOLS[tool] + (cut[1] ? ' (' + cut[1] + ')' : '');
    var b = el('button', { type: 'button', 'class': 'copy', 'aria-label': 'Copy the command for ' + label, text: 'Copy' });
    b.addEventListener('click', function () {
      var done = function (ok) { b.textContent = ok ? 'Copied' : 'Select it'; setTimeout(function () { b.textContent = 'Copy'; }, 1500); };
      if (!navigator.clipboard) return done(false);
      navigator.clipboard.writeText(command).then(function () { done(true); }, function () { done(false); });
    });
    if (cut[1]) parent.appendChild(el('p', { 'class': 'why', text: label }));
    // A word stays on one line where it fits on one: "--index-url" has hyphens.
    var code = el('code');
    command.split(' ').forEach(function (word, i) {
      if (i) code.appendChild(document.createTextNode(' '));
      code.appendChild(el('span', { text: word }));
    });
    parent.appendChild(el('div', { 'class': 'command' }, code, b));
  }

  // bandsOf is the table for one GPU where no driver is named.
  // since is from which driver on: "525.60.13 and newer", or "after 580" where no branch begins.
  function since(d, driver) {
    if (!driver) return 'any driver';
    if (driver.indexOf('.') >= 0 || d.branch(driver)) return driver + ' and newer';
    return 'after ' + d.json.branches.map(function (b) { return +b[0]; }).filter(function (b) { return b < +driver; }).pop();
  }

  function bandsOf(d, want, host) {
    var w = d.json.wants[want], group = w.groups[w.of[host.n]][0], body = el('tbody'), last;
    for (var i = 0; i < group.length; i += 2) {
      var keep = w.answers[group[i + 1]][0].map(function (n) { return w.sets[n]; }).filter(function (s) { return s[0] === 'keep-driver'; })[0];
      var text = keep ? d.json.strings[keep[2][0]].split('==').join(' ') : 'none';
      if (text === last || (last === undefined && text === 'none')) continue;
      last = text;
      body.appendChild(el('tr', {}, el('th', { scope: 'row', text: since(d, group[i]) }), el('td', { text: text })));
    }
    return el('section', { 'class': 'card' }, el('h2', { text: 'By driver, on ' + host.label }),
      el('table', {}, el('thead', {}, el('tr', {}, el('th', { scope: 'col', text: 'driver' }), el('th', { scope: 'col', text: 'newest ' + want }))), body));
  }

  function day(text) {
    var months = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
    var p = text.split('-');
    return months[+p[1] - 1] + ' ' + p[0];
  }

  function driverNotes(d, driver, host) {
    var b = d.branch(d.json.images[driver] || driver), list = [];
    if (b && b[3]) {
      list.push(b[3] <= d.json.date ? 'Driver branch ' + b[0] + ' reached its end of life in ' + day(b[3]) + ': no more security fixes.'
        : 'Driver branch ' + b[0] + ' reaches its end of life in ' + day(b[3]) + '.');
    } else if (b && b[1] === 'NFB') list.push('Driver branch ' + b[0] + ' is a new-feature branch: it ends when the next one starts.');
    if (!host) list.forEach(function (t) { out.appendChild(el('p', { text: t })); });
    return list;
  }

  // breaks says what does not run on the driver, and what ends next.
  function breaks(d, q, want, host, a) {
    var list = [];
    var by = {};
    a.sets.forEach(function (s) { by[s.choice] = s; });
    var release = function (s) { return s.packages[0].split('==')[1] || ''; };
    var keep = by['keep-driver'], newest = by.newest;
    if (keep && newest && release(keep) !== release(newest)) {
      var small = by['smallest-driver'];
      list.push(want + ' ' + release(newest) + ' does not run on driver ' + q.driver + (!small || !small.driver ? '' : q.platform === 'windows' ? '; it needs ' + small.driver + ' or newer' : '; the oldest maintained branch that runs it is ' + small.driver.split('.')[0]) + '.');
    }
    if (q.driver && q.platform !== 'windows' && !d.json.hosts[host.n].t) list = list.concat(driverNotes(d, q.driver, host));
    a.ends.filter(function (e) { return e.kind !== 'driver'; }).forEach(function (e) {
      list.push(e.why + (e.date ? '; its end of life is ' + day(e.date) : '') + '.');
    });
    if (!list.length) return;
    var ul = el('ul');
    list.forEach(function (t) { ul.appendChild(el('li', { text: t })); });
    out.appendChild(el('section', { 'class': 'card' }, el('h2', { text: 'What breaks, and what breaks next' }), ul));
  }

  // ---- start

  form.addEventListener('submit', function (e) { e.preventDefault(); });
  box.addEventListener('input', typed);
  document.getElementById('wants').addEventListener('click', function (e) {
    var b = e.target.closest('button');
    if (!b) return;
    go(Object.assign({}, question, { want: b.dataset.want, release: undefined }), true);
  });
  document.getElementById('systems').addEventListener('click', function (e) {
    var b = e.target.closest('button');
    var linux = lookup.windowsOnly(question.driver) ? 'linux' : undefined;
    if (b) go(Object.assign({}, question, { platform: b.dataset.platform === 'linux' ? linux : b.dataset.platform }), true);
  });
  window.addEventListener('popstate', function () {
    question = lookup.settle(lookup.fromAddress(location.search));
    box.value = '';
    asks = []; said = [];
    show();
  });
  fetch(root + 'assets/space.json').then(function (r) { return r.json(); }).then(function (json) {
    data = new lookup.Data(json);
    question = lookup.fromAddress(location.search);
    form.hidden = false;
    if (named(question) || question.want) go(question, false);
    else show();
  }).catch(function () { notes.textContent = 'The answers could not be loaded; the table below has the main ones.'; notes.hidden = false; });
})();

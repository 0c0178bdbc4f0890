// The grid: my column, my driver, one tab stop with arrow keys, and what stands behind a cell.
(function () {
  'use strict';
  var root = document.body.dataset.root, form = document.getElementById('mine'), gpu = document.getElementById('gpu'), driver = document.getElementById('driver');
  var cell = document.getElementById('cell'), line = document.getElementById('mydriver');
  var tables = Array.prototype.slice.call(document.querySelectorAll('table.grid')), json = null, shown = 'plain';

  function el(name, text, attributes) {
    var e = document.createElement(name);
    if (text) e.textContent = text;
    Object.keys(attributes || {}).forEach(function (k) { e.setAttribute(k, attributes[k]); });
    return e;
  }

  function has(ranges, d) {
    return ranges.some(function (r) {
      return (!r.from || lookup.compare(d, r.from) >= 0) && (!r.before || lookup.compare(d, r.before) < 0);
    });
  }

  function words(ranges) {
    if (!ranges.length) return 'no driver';
    return ranges.map(function (r) {
      if (!r.from && !r.before) return 'any driver';
      return (r.from ? 'driver ' + r.from + ' or newer' : 'any driver') + (r.before ? ', before ' + r.before : '');
    }).join('; or ');
  }

  function release(at) { return json.releases[+at]; }

  function buildsOf(td) {
    var c = release(td.dataset.r).cells[+td.dataset.gpu], plain = td.closest('table').dataset.table === 'plain';
    return (c.builds || []).filter(function (b) { return !plain || b.variant === c.default; });
  }

  function valid() { return /^\d{3,4}(\.\d+){0,2}$/.test(driver.value.trim()) ? driver.value.trim() : ''; }

  // mark writes the builds that run on the reader's driver in bold, the others in brackets.
  function mark() {
    var d = valid();
    driver.setAttribute('aria-invalid', String(!!driver.value.trim() && !d));
    tables.forEach(function (t) {
      t.querySelectorAll('td').forEach(function (td) {
        var span = td.firstElementChild, works = buildsOf(td).filter(function (b) { return b.drivers.length; });
        if (!td.dataset.text) { td.dataset.text = span.textContent; td.dataset.label = td.getAttribute('aria-label'); }
        span.textContent = '';
        if (!d || !works.length) {
          span.textContent = td.dataset.text;
          td.setAttribute('aria-label', td.dataset.label);
          return;
        }
        var runs = works.filter(function (b) { return has(b.drivers, d); });
        works.forEach(function (b, i) {
          if (i) span.appendChild(document.createTextNode(' '));
          var n = b.variant.replace('cu', '');
          span.appendChild(runs.indexOf(b) >= 0 ? el('b', n) : document.createTextNode('(' + n + ')'));
        });
        span.appendChild(document.createTextNode((td.dataset.text.match(/ [†c]/g) || []).join('')));
        td.setAttribute('aria-label', span.textContent + ': ' + (runs.length ? runs.map(function (b) { return b.variant; }).join(', ') + ' runs' : 'nothing runs') + ' on driver ' + d + '; ' + td.dataset.label.replace(/^[^:]*: /, ''));
      });
    });
    ladderLine(d);
  }

  function ladderLine(d) {
    var at = null;
    document.querySelectorAll('.ladder g[data-branch]').forEach(function (g) {
      if (d && +g.dataset.branch <= +d.split('.')[0]) at = g.dataset.x;
    });
    line.setAttribute('visibility', at ? 'visible' : 'hidden');
    if (at) { line.setAttribute('x1', at); line.setAttribute('x2', at); }
  }

  // mine puts the reader's column first.
  function mine() {
    tables.forEach(function (t) {
      t.querySelectorAll('tr').forEach(function (tr) {
        var list = Array.prototype.slice.call(tr.querySelectorAll('[data-gpu]'));
        list.sort(function (a, b) {
          var x = +a.dataset.gpu, y = +b.dataset.gpu, m = gpu.value === '' ? -1 : +gpu.value;
          return (y === m) - (x === m) || x - y;
        });
        list.forEach(function (c) {
          c.classList.toggle('mine', gpu.value !== '' && c.dataset.gpu === gpu.value);
          tr.appendChild(c);
        });
      });
      stop(t, t.querySelector('td'));
    });
  }

  function stop(t, td) {
    t.querySelectorAll('td[tabindex="0"]').forEach(function (o) { o.tabIndex = -1; });
    td.tabIndex = 0;
  }

  function choose(id) {
    shown = id;
    form.querySelectorAll('[data-table]').forEach(function (b) { b.setAttribute('aria-pressed', String(b.dataset.table === id)); });
    tables.forEach(function (t) { t.closest('section').hidden = t.dataset.table !== id; });
    cell.hidden = true;
  }

  function address() {
    var q = [];
    if (valid()) q.push('driver=' + valid());
    if (gpu.value !== '') q.push('gpu=' + encodeURIComponent(json.gpus[+gpu.value].Words).replace(/%20/g, '+'));
    if (shown !== 'plain') q.push('builds=any');
    history.replaceState(null, '', q.length ? '?' + q.join('&') : location.pathname);
  }

  function open(td) {
    var r = release(td.dataset.r), g = json.gpus[+td.dataset.gpu], c = r.cells[+td.dataset.gpu], d = valid();
    cell.textContent = '';
    cell.appendChild(el('h2', 'torch ' + r.release + ' on ' + g.Words));
    var list = el('ul');
    (c.builds || []).forEach(function (b) {
      var text = b.variant + ': ' + (b.drivers.length ? words(b.drivers) : b.undecided.length ? 'not known' : 'no driver (' + b.because.join(', ') + ')');
      if (b.code === 'ptx') text += '; PTX only, compiled on first use';
      if (b.forward) text += '; with ' + b.forward + ' also on some older drivers';
      if (d && b.drivers.length) text += has(b.drivers, d) ? '. Runs on ' + d : '. Does not run on ' + d;
      var li = el('li', text + '.');
      if (b.variant === c.default) li.appendChild(document.createTextNode(' This is what plain pip install gets.'));
      if (b.because && b.because.length) b.because.forEach(function (rule) { li.appendChild(document.createTextNode(' ')); li.appendChild(el('a', rule, { href: root + 'rule/' + rule + '/' })); });
      var s = el('details'), ul = el('ul', '', { 'class': 'sources' });
      s.appendChild(el('summary', 'Sources'));
      b.source.forEach(function (place) {
        var o = json.sources[place], item = el('li');
        item.appendChild(/^https:/.test(o) ? el('a', o, { href: o, rel: 'noreferrer' }) : el('code', o));
        ul.appendChild(item);
      });
      s.appendChild(ul);
      li.appendChild(s);
      list.appendChild(li);
    });
    if (!(c.builds || []).length) list.appendChild(el('li', 'The tables have no build of it for this platform.'));
    cell.appendChild(list);
    cell.appendChild(el('p', 'Builds of one CUDA major run on every driver from its first on (minor-version compatibility); that is simply “works” here. '));
    cell.lastChild.appendChild(el('a', 'Limits', { href: root + 'rule/minor-compat/' }));
    cell.hidden = false;
    cell.scrollIntoView({ block: 'nearest' });
  }

  fetch(root + 'grid.json').then(function (r) { return r.json(); }).then(function (data) {
    json = data;
    form.hidden = false;
    var q = lookup.fromAddress(location.search);
    if (q.driver) driver.value = q.driver;
    if (q.gpu) json.gpus.forEach(function (g, i) { if ([g.Words, g.Name].map(function (n) { return n.toLowerCase(); }).indexOf(q.gpu.toLowerCase()) >= 0) gpu.value = String(i); });
    choose(/[?&]builds=any/.test(location.search) ? 'any' : 'plain');
    mine();
    mark();
    form.addEventListener('submit', function (e) { e.preventDefault(); });
    form.addEventListener('click', function (e) { var b = e.target.closest('button'); if (b) { choose(b.dataset.table); address(); } });
    gpu.addEventListener('change', function () { mine(); address(); });
    driver.addEventListener('input', function () { mark(); address(); });
    tables.forEach(function (t) {
      t.querySelectorAll('td').forEach(function (td) { td.tabIndex = -1; });
      stop(t, t.querySelector('td'));
      t.addEventListener('click', function (e) { var td = e.target.closest('td'); if (td) { stop(t, td); open(td); } });
      t.addEventListener('keydown', function (e) {
        var td = e.target.closest('td');
        if (!td) return;
        var row = td.parentNode, cells = Array.prototype.slice.call(row.querySelectorAll('td')), at = cells.indexOf(td), next = null;
        if (e.key === 'ArrowRight') next = cells[at + 1];
        else if (e.key === 'ArrowLeft') next = cells[at - 1];
        else if (e.key === 'Home') next = cells[0];
        else if (e.key === 'End') next = cells[cells.length - 1];
        else if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
          var to = e.key === 'ArrowDown' ? row.nextElementSibling : row.previousElementSibling;
          if (to) next = to.querySelectorAll('td')[at];
        } else if (e.key === 'Enter' || e.key === ' ') {
          e.preventDefault();
          open(td);
          return;
        } else return;
        e.preventDefault();
        if (next) { stop(t, next); next.focus(); }
      });
    });
  });
})();

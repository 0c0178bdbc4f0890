// Search over the names of all pages.
(function () {
  'use strict';
  var root = document.body.dataset.root, box = document.getElementById('find'), found = document.getElementById('found'), count = document.getElementById('count');
  document.getElementById('search').addEventListener('submit', function (e) { e.preventDefault(); });
  fetch(root + 'assets/search.json').then(function (r) { return r.json(); }).then(function (list) {
    document.getElementById('search').hidden = false;
    function show() {
      var words = box.value.toLowerCase().split(/[\s,;:_-]+/).filter(Boolean);
      found.textContent = '';
      count.textContent = '';
      if (!words.length) return;
      var hits = list.map(function (e) {
        var title = e.t.toLowerCase(), all = title.replace(/[-_]/g, ' ') + ' ' + e.p + ' ' + (e.w || '').toLowerCase().replace(/[-_]/g, ' '), score = 0;
        for (var i = 0; i < words.length; i++) {
          if (all.indexOf(words[i]) < 0) return null;
          if (title === words[i] || title.split(/[\s-]/).indexOf(words[i]) >= 0) score += 3;
          else if (title.indexOf(words[i]) >= 0) score += 1;
        }
        return { e: e, score: score - title.length / 1000 };
      }).filter(Boolean).sort(function (a, b) { return b.score - a.score; });
      count.textContent = hits.length === 1 ? '1 page' : hits.length + ' pages' + (hits.length > 60 ? ', the first 60' : '');
      hits.slice(0, 60).forEach(function (h) {
        var a = document.createElement('a'), li = document.createElement('li');
        a.href = root + h.e.p;
        a.textContent = h.e.t;
        li.appendChild(a);
        found.appendChild(li);
      });
    }
    box.addEventListener('input', function () {
      history.replaceState(null, '', box.value ? '?q=' + encodeURIComponent(box.value.slice(0, 80)) : location.pathname);
      show();
    });
    var q = /[?&]q=([^&]*)/.exec(location.search);
    if (q) {
      try { box.value = decodeURIComponent(q[1].replace(/\+/g, ' ')); } catch (e) { /* no text */ }
      show();
    }
  });
})();

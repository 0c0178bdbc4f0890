// The page's own lookup: what a text says of a host, and what the data answers for it. It needs no document, so that the
// tests run it in Node beside the command line.
(function (root) {
  'use strict';

  var TOOLS = ['pip', 'uv', 'apt', 'dnf', 'runfile'];
  var BRANDS = ['', 'tesla ', 'geforce ', 'geforce gtx ', 'geforce rtx ', 'quadro ', 'rtx ', 'gtx ', 'nvidia '];

  function compare(a, b) {
    var x = a.split('.'), y = b.split('.');
    for (var i = 0; i < Math.max(x.length, y.length); i++) {
      var d = (+x[i] || 0) - (+y[i] || 0);
      if (d) return d;
    }
    return 0;
  }

  // normal is a name in lower case, with single spaces and without the maker.
  function normal(name) {
    return name.toLowerCase().replace(/[-_\s]+/g, ' ').replace(/^nvidia /, '').trim();
  }

  // short is a product's name as people write it, "RTX 5090".
  function short(name) {
    return name.replace(/^(GeForce|Tesla) (?=\S)/, '');
  }

  var branches = []; // the numbers of the driver's branches, in order

  // windowsOnly reports whether a driver's number is one that NVIDIA gives only for Windows, as 581.80.
  function windowsOnly(driver) {
    if (!/^\d{3}(\.\d+)?$/.test(driver || '')) return false;
    var number = parseInt(driver, 10);
    return branches.indexOf(number) < 0 && branches.some(function (b) { return b >= 500 && b < number; }) &&
      branches.some(function (b) { return b > number; });
  }

  // settle is a question with Windows as its system, if none is named and the driver is one for Windows.
  function settle(q) {
    return !q.platform && windowsOnly(q.driver) ? Object.assign({}, q, { platform: 'windows' }) : q;
  }

  function Data(json) {
    branches = json.branches.map(function (b) { return +b[0]; });
    this.json = json;
    this.byName = {};
    this.byInstance = {};
    this.byCapability = {};
    this.longest = 1;
    var self = this;
    json.hosts.forEach(function (h, n) {
      (h.g || []).forEach(function (name) { self.add(name, n); });
      (h.i || []).forEach(function (name, i) { self.byInstance[name.toLowerCase()] = { host: n, name: name, gpu: h.l[i] }; });
      if (!h.g && !h.i) self.byCapability[h.c] = n;
    });
  }

  // add indexes a product under its name with and without brands. What two kinds of host share stays open.
  Data.prototype.add = function (name, n) {
    var key = normal(name), self = this;
    var keys = [key];
    BRANDS.forEach(function (b) { if (b && key.indexOf(b) === 0) keys.push(key.slice(b.length)); });
    var plain = key.replace(/ (\d+gb|pcie|sxm\d?|nvl|hbm\w*)\b.*$/, '');
    if (plain !== key) {
      keys.push(plain);
      BRANDS.forEach(function (b) { if (b && plain.indexOf(b) === 0) keys.push(plain.slice(b.length)); });
    }
    keys.forEach(function (k, i) {
      if (i && !/\d/.test(k) && !/titan/.test(k)) return;
      var list = self.byName[k] = self.byName[k] || [];
      var known = list.filter(function (o) { return o.name === name; }).length;
      if (!known) list.push({ host: n, name: name, exact: i === 0 });
      self.longest = Math.max(self.longest, k.split(' ').length);
    });
  };

  // gpus are the products of a name: the one that bears it, else those that bear it with a brand.
  Data.prototype.gpus = function (name) {
    var list = this.byName[normal(name)] || [];
    var exact = list.filter(function (o) { return o.exact; });
    if (exact.length) return exact.slice(0, 1);
    var hosts = {};
    return list.filter(function (o) {
      var seen = hosts[o.host];
      hosts[o.host] = true;
      return !seen;
    });
  };

  // host is what a question names: {n, label}; null where nothing is named, undefined where the data do not have it.
  Data.prototype.host = function (q) {
    if (q.instance) {
      var i = this.byInstance[q.instance.toLowerCase().replace(/^ml\./, '')];
      if (!i) return undefined;
      return { n: i.host, label: i.gpu + ' (' + this.json.hosts[i.host].c + ')', gpu: i.gpu };
    }
    if (!q.gpu) return null;
    if (/^\d+\.\d$/.test(q.gpu)) {
      var c = this.byCapability[q.gpu];
      return c === undefined ? undefined : { n: c, label: 'GPU of compute capability ' + q.gpu };
    }
    var g = this.gpus(q.gpu);
    if (!g.length) return undefined;
    return { n: g[0].host, label: q.gpu + ' (' + this.json.hosts[g[0].host].c + ')', gpu: g[0].name };
  };

  // answer is what pins says: {sets, missing}; undefined for a host that is not known.
  Data.prototype.answer = function (q) {
    var host = this.host(q), w = this.json.wants[q.want || 'torch'];
    if (!host || !w) return undefined;
    var driver = this.json.images[q.driver] || q.driver || '';
    var a = this.filled(w, this.number(w, host.n, driver), driver, host.label);
    a.ends = this.ends(w, host, driver);
    return a;
  };

  // number is that of the answer for a driver as it is typed.
  Data.prototype.number = function (w, host, driver) {
    var group = w.groups[w.of[host]];
    driver = this.json.images[driver] || driver;
    if (!driver) return group[2];
    for (var i = 0; i < group[1].length; i += 2) if (group[1][i] === driver) return group[1][i + 1];
    var n = group[0][1];
    for (i = 0; i < group[0].length; i += 2) {
      if (group[0][i] && compare(driver, group[0][i]) < 0) break;
      n = group[0][i + 1];
    }
    return n;
  };

  // ends are what ends for a host: its driver's branch, drivers for its GPU, the framework's releases for it.
  Data.prototype.ends = function (w, host, driver) {
    var strings = this.json.strings, list = w.groups[w.of[host.n]][3];
    var own = driver && !this.json.hosts[host.n].t && this.json.driverEnds[driver.split('.')[0]];
    return (own ? [own] : []).concat(list).map(function (e) {
      return { kind: e[0], last: e[1], date: e[2], why: strings[e[3]].split('{gpu}').join(host.label), source: e[4].map(function (n) { return strings[n]; }) };
    });
  };

  Data.prototype.filled = function (w, number, driver, label) {
    var strings = this.json.strings;
    function text(n) { return strings[n].split('{gpu}').join(label).split('{driver}').join(driver); }
    function texts(list) { return list.map(function (n) { return strings[n]; }); }
    var a = w.answers[number];
    return {
      sets: a[0].map(function (n) {
        var s = w.sets[n], commands = {};
        TOOLS.forEach(function (tool, i) {
          if (s[5][i] >= 0) commands[tool] = strings[s[5][i]];
          else if (s[5][i] === -2) commands[tool] = 'uv ' + commands.pip;
        });
        return {
          choice: s[0], driver: strings[s[1]], packages: texts(s[2]), index: strings[s[3]], extra: strings[s[4]], commands: commands,
          steps: s[6].map(function (p) { return { say: strings[p[0]], run: strings[p[1]], or: p[2] }; }),
          why: text(s[7]), lacks: texts(s[8]), source: texts(s[9])
        };
      }),
      missing: a[1].map(function (m) { return { choice: m[0], why: text(m[1]), source: texts(m[2]) }; })
    };
  };

  // alike are the products that are answered as a host is.
  Data.prototype.alike = function (host) { return this.json.hosts[host.n].g || []; };

  // floor is the driver that builds for a CUDA need, [compared, printed]; undefined for one that is not known.
  Data.prototype.floor = function (cuda) { return this.json.floors[cuda.split('.')[0]]; };

  // builtFor says what the grid has of a build for a CUDA on a GPU: {release, works}, of a release, or else of the newest
  // one with such a build; undefined where the grid has not the GPU or no such build.
  function builtFor(grid, names, cuda, release) {
    var at = -1, variant = 'cu' + cuda.replace('.', '');
    grid.gpus.forEach(function (g, i) { if (at < 0 && names.map(short).indexOf(short(g.Name)) >= 0) at = i; });
    if (at < 0) return undefined;
    for (var i = 0; i < grid.releases.length; i++) {
      if (release && (grid.releases[i].release + '.').indexOf(release + '.') !== 0) continue;
      var b = grid.releases[i].cells[at].builds.filter(function (o) { return o.variant === variant; })[0];
      if (b) return b.code === 'unknown' || b.undecided.length && !b.drivers.length ? undefined : { release: grid.releases[i].release + '+' + variant, works: b.drivers.length > 0, from: b.drivers.length ? b.drivers[0].from : '' };
    }
    return undefined;
  }

  // releases says of the builds of a named release which drivers they need on a host: {variant, release, command, drivers,
  // undecided, because, runs}. needs is the file of the framework; release may be a part, "0.11"; its newest is taken. runs
  // is true, false, or undefined where no driver is named or a fact is missing.
  function releases(needs, host, release, driver) {
    var part = release.split('+'), found = needs.rows.filter(function (r) { return (r[0] + '.').indexOf(part[0] + '.') === 0; });
    return found.filter(function (r) { return r[0] === found[0][0] && (!part[1] || r[1] === part[1]); }).map(function (r) {
      var code = r[3].charCodeAt(host.n), c = needs.cells[code - 48 - (code > 92 ? 1 : 0)];
      if (!c) return { release: r[0], variant: r[1], absent: true, runs: false, drivers: [], undecided: [], because: [] };
      var b = { release: r[0], variant: r[1], command: r[2], drivers: stretches(c[0]), undecided: stretches(c[1]), because: c[2], code: c[3] };
      b.runs = inside(b.drivers, driver) || (driver && !inside(b.undecided, driver) ? false : b.drivers.length + b.undecided.length ? undefined : false);
      return b;
    });
  }

  function stretches(flat) {
    var list = [];
    for (var i = 0; i < flat.length; i += 2) list.push({ from: flat[i], before: flat[i + 1] });
    return list;
  }

  function inside(list, driver) {
    return !!driver && list.some(function (s) { return (!s.from || compare(driver, s.from) >= 0) && (!s.before || compare(driver, s.before) < 0); });
  }

  // branch is the row of a driver's branch; undefined for one that the tables do not have.
  Data.prototype.branch = function (driver) {
    var number = driver.split('.')[0];
    return this.json.branches.filter(function (b) { return b[0] === number; })[0];
  };

  var PACKAGES = { pytorch: 'torch', torch: 'torch', tensorflow: 'tensorflow', jax: 'jax', jaxlib: 'jax', vllm: 'vllm', sglang: 'sglang' };

  // read says what a text names: {driver, gpu, instance, want, release, python, platform, eks, cuda, xid, error, asks, unknown}.
  // asks are readings of which the reader has to choose one.
  Data.prototype.read = function (text) {
    var r = { asks: [] }, m, self = this;
    // A mark at the end of a word ends a sentence.
    var rest = ' ' + text.replace(/[|+]/g, ' ').replace(/[?!]|[.,;](?=\s|$)/g, ' ; ') + ' ';
    function take(pattern, then) {
      var found = pattern.exec(rest);
      if (!found) return false;
      rest = rest.slice(0, found.index) + ' ; ' + rest.slice(found.index + found[0].length);
      then(found);
      return true;
    }
    // What names itself.
    take(/CUDA (?:UMD )?Version\s*:?\s*(\d+\.\d+)/i, function (f) { r.cuda = f[1]; });
    take(/(?:Driver|KMD) Version\s*:?\s*(\d{3,4}(?:\.\d+){0,2})/i, function (f) { r.driver = f[1]; });
    take(/NVIDIA-SMI\s+(\d{3,4}(?:\.\d+){0,2})/i, function (f) { r.driver = r.driver || f[1]; });
    take(/Nvidia driver version\s*:\s*(\d{3,4}(?:\.\d+){0,2})/i, function (f) { r.driver = r.driver || f[1]; });
    take(/(?:--driver[= ]|\bdriver[= ]|\bnvidia-driver-|\bbranch )\s*v?(\d{3,4}(?:\.\d+){0,2})\b/i, function (f) { r.driver = r.driver || f[1]; });
    take(/\bXid\b[^\d]{0,30}(?:\([^)]*\)\s*:?\s*)?(\d{1,3})\b/i, function (f) { r.xid = f[1]; });
    take(/\b(?:CUDA )?error(?: code)?[ :=#]*(\d{1,3})\b/i, function (f) { r.error = f[1]; });
    take(/\b(cudaError\w+|CUDA_ERROR_\w+)\b/, function (f) { r.error = f[1]; });
    take(/(?:--python[= ]|\bpython(?: version)?\s*[:=]?|\bpy|\bcp)\s*(3\.?\d{1,2})(?:\.\d+)?t?\b/i, function (f) {
      r.python = f[1].indexOf('.') < 0 ? '3.' + f[1].slice(1) : f[1];
    });
    take(/\beks\b/i, function () { r.eks = true; });
    take(/\b(windows|win_amd64|win1[01]|wsl2?)\b/i, function (f) { r.platform = /wsl/i.test(f[1]) ? 'wsl' : 'windows'; });
    take(/\b(pytorch|torch|tensorflow|jax(?:lib)?|vllm|sglang)\b(?:\s*(?:[=~><!]=?=?)?\s*v?(\d+\.\d+(?:\.\d+)*))?/i, function (f) {
      r.want = PACKAGES[f[1].toLowerCase()];
      r.release = f[2];
    });
    take(/\b(?:cu|cuda[ -]?)(\d{2,3}|\d{2}\.\d)\b/i, function (f) {
      r.build = f[1].indexOf('.') > 0 ? f[1] : f[1].slice(0, 2) + (f[1].length > 2 ? '.' + f[1][2] : '');
    });
    rest.split(/[\s,;"'()\[\]]+/).forEach(function (word) {
      var w = word.toLowerCase().replace(/^ml\./, '');
      if (!r.instance && self.byInstance[w]) {
        r.instance = self.byInstance[w].name;
        rest = rest.replace(word, ' ; ');
      }
      if (!r.driver && self.json.images[word]) {
        r.driver = word;
        rest = rest.replace(word, ' ; ');
      }
    });
    this.readGPU(rest, r, function (left) { rest = left; });
    if (!r.gpu && !r.instance && !r.asks.length) this.readFamily(rest, r);
    this.readDriver(rest, r);
    return r;
  };

  // readGPU finds the longest name of a product, words by words.
  Data.prototype.readGPU = function (rest, r, left) {
    var words = rest.replace(/[(),:;"]/g, ' ; ').split(/\s+/).filter(Boolean), self = this;
    var best = null;
    for (var n = Math.min(this.longest, words.length); n > 0 && !best; n--) {
      for (var i = 0; i + n <= words.length; i++) {
        var name = words.slice(i, i + n).join(' ');
        var tries = [name, name.replace(/(rtx|gtx|geforce|tesla)(?=[a-z]?\d)/ig, '$1 ').replace(/(\d)(ti|super)\b/i, '$1 $2')];
        tries.forEach(function (t) {
          var list = self.gpus(t);
          // A number alone may be a driver.
          if (best || !list.length || /^\d{3}$/.test(t)) return;
          best = { list: list, from: i, count: n, said: t };
        });
        if (best) break;
      }
    }
    if (!best) {
      var c = /\b(?:sm_?|compute capability |cc )(\d{1,2})\.?(\d)\b/i.exec(rest);
      if (c && this.byCapability[c[1] + '.' + c[2]] !== undefined) r.gpu = c[1] + '.' + c[2];
      return;
    }
    var hosts = best.list.filter(function (o, i) { return best.list.findIndex(function (p) { return p.host === o.host; }) === i; });
    if (hosts.length > 1) r.asks.push({ kind: 'gpu', said: best.said, options: hosts.map(function (o) { return o.name; }) });
    else r.gpu = short(best.list[0].name);
    left(' ' + words.slice(0, best.from).concat(';', words.slice(best.from + best.count)).join(' ') + ' ');
  };

  // readFamily takes the GPU of a family of instance types, "g5": all of its sizes have one, or the reader has to choose.
  Data.prototype.readFamily = function (rest, r) {
    var self = this;
    rest.toLowerCase().split(/[^a-z0-9-]+/).forEach(function (word) {
      if (r.gpu || !/^[a-z]+\d[a-z0-9-]*$/.test(word)) return;
      var gpus = [];
      Object.keys(self.byInstance).forEach(function (name) {
        var gpu = short(self.byInstance[name].gpu);
        if (name.indexOf(word + '.') === 0 && gpus.indexOf(gpu) < 0) gpus.push(gpu);
      });
      if (gpus.length === 1) r.gpu = gpus[0];
      else if (gpus.length > 1) r.asks.push({ kind: 'gpu', said: word, options: gpus });
    });
  };

  // readDriver finds numbers that may be drivers where none names itself: a whole version before a branch.
  Data.prototype.readDriver = function (rest, r) {
    if (r.driver) return;
    var self = this, whole = [], bare = [];
    (rest.match(/(?:^|[^\w.])(\d{3}(?:\.\d+){0,2})(?![\w.])/g) || []).forEach(function (m) {
      var v = m.replace(/^[^\d]/, '');
      if (+v.split('.')[0] < 300) return;
      var list = v.indexOf('.') > 0 ? whole : bare;
      if (list === bare && !self.branch(v)) return;
      if (list.indexOf(v) < 0) list.push(v);
    });
    var list = whole.length ? whole : bare;
    if (list.length === 1) r.driver = list[0];
    else if (list.length > 1) r.asks.push({ kind: 'driver', said: list.join(', '), options: list });
  };

  var ORDER = ['driver', 'gpu', 'instance', 'want', 'python', 'platform'];
  var DEFAULTS = { want: 'torch', python: '3.12', platform: 'linux' };

  // spelled is a question with its release in what is wanted, as the flag has it: "torch==2.9.0".
  function spelled(q) {
    return q.release ? Object.assign({}, q, { want: (q.want || DEFAULTS.want) + '==' + q.release }) : q;
  }

  // usual reports whether a part of a question is as always. Linux is not, beside a driver for Windows.
  function usual(q, k) {
    return q[k] === DEFAULTS[k] && !(k === 'platform' && windowsOnly(q.driver));
  }

  // address is a question's query, in one order, without what is as always.
  function address(q) {
    q = spelled(q);
    var parts = ORDER.filter(function (k) { return q[k] && !usual(q, k); }).map(function (k) {
      return k + '=' + encodeURIComponent(q[k]).replace(/%20/g, '+').replace(/%3D/g, '=');
    });
    return parts.length ? '?' + parts.join('&') : '';
  }

  function fromAddress(search) {
    var q = {};
    search.replace(/^\?/, '').split('&').forEach(function (part) {
      var i = part.indexOf('='), k = part.slice(0, i);
      if (ORDER.indexOf(k) < 0) return;
      try { q[k] = decodeURIComponent(part.slice(i + 1).replace(/\+/g, ' ')).slice(0, 80); } catch (e) { /* no text */ }
    });
    var spec = (q.want || '').split('==');
    if (spec[1]) {
      q.want = spec[0] === DEFAULTS.want ? undefined : spec[0];
      q.release = spec[1];
    }
    return q;
  }

  // command is the command line that says the same.
  function command(q) {
    var words = ['cudacompat pins'];
    q = spelled(q);
    ORDER.forEach(function (k) {
      var v = q[k] || (k === 'platform' ? '' : DEFAULTS[k]);
      if (!v || k === 'platform' && usual(q, k)) return;
      words.push('--' + k + ' ' + (/^[\w.+=-]+$/.test(v) ? v : "'" + v.replace(/'/g, "'\\''") + "'"));
    });
    return words.join(' ');
  }

  var api = { Data: Data, compare: compare, address: address, builtFor: builtFor, fromAddress: fromAddress, command: command, releases: releases, settle: settle, short: short, windowsOnly: windowsOnly, DEFAULTS: DEFAULTS };
  if (typeof module !== 'undefined' && module.exports) module.exports = api;
  else root.lookup = api;
})(this);

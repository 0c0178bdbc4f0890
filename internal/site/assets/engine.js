// The engine of /paste/ and /change/, in a worker of the page and in Node: it gives Go's runtime the two texts as its
// only files, and asks the program for a judgement. Nothing here is reached from outside, and nothing leaves from here.
(function (scope) {
  'use strict';

  var files = {}, open = {}, next = 100, said = '';

  function failure(code) { var e = new Error(code); e.code = code; return e; }

  function stat(bytes) {
    return { dev: 1, ino: 1, mode: 0x8124, nlink: 1, uid: 0, gid: 0, rdev: 0, size: bytes.length, blksize: 4096, blocks: 1, atimeMs: 0, mtimeMs: 0, ctimeMs: 0,
      isDirectory: function () { return false; } };
  }

  function find(path) { return Object.prototype.hasOwnProperty.call(files, path) ? files[path] : null; }

  function statOf(path, done) {
    var bytes = find(path);
    if (bytes) done(null, stat(bytes));
    else done(failure('ENOENT'));
  }

  var text = new TextDecoder('utf-8');

  // What Go's runtime asks of a file system; all that is not here does not exist.
  scope.fs = {
    constants: { O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_TRUNC: 512, O_APPEND: 1024, O_EXCL: 128, O_DIRECTORY: 65536 },
    writeSync: function (fd, bytes) { said = (said + text.decode(bytes)).slice(-4000); return bytes.length; },
    write: function (fd, bytes, offset, length, position, done) { done(null, this.writeSync(fd, bytes)); },
    open: function (path, flags, mode, done) {
      var bytes = find(path);
      if (!bytes || flags & 3) return done(failure(bytes ? 'EROFS' : 'ENOENT'));
      open[++next] = { bytes: bytes, at: 0 };
      done(null, next);
    },
    close: function (fd, done) { delete open[fd]; done(null); },
    fstat: function (fd, done) { if (open[fd]) done(null, stat(open[fd].bytes)); else done(failure('EBADF')); },
    stat: statOf,
    lstat: statOf,
    read: function (fd, into, offset, length, position, done) {
      var f = open[fd];
      if (!f) return done(failure('EBADF'));
      var from = position === null || position === undefined ? f.at : position, part = f.bytes.subarray(from, from + length);
      into.set(part, offset);
      if (position === null || position === undefined) f.at += part.length;
      done(null, part.length);
    },
    readlink: function (path, done) { done(failure(find(path) ? 'EINVAL' : 'ENOENT')); }
  };
  ['readdir', 'chmod', 'fchmod', 'chown', 'fchown', 'lchown', 'fsync', 'ftruncate', 'truncate', 'link', 'symlink', 'mkdir', 'rename', 'rmdir', 'unlink', 'utimes'].forEach(function (name) {
    scope.fs[name] = function () { arguments[arguments.length - 1](failure('ENOSYS')); };
  });
  scope.process = { pid: 1, ppid: 1, getuid: function () { return 0; }, getgid: function () { return 0; }, geteuid: function () { return 0; }, getegid: function () { return 0; },
    getgroups: function () { return []; }, umask: function () { return 18; }, cwd: function () { return '/'; }, chdir: function () { throw failure('ENOSYS'); } };

  // unpack returns what a stream of gzip holds; a server that unpacks it on the way has done so already.
  function unpack(bytes) {
    if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return Promise.resolve(bytes);
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
  }

  // start starts the program, and resolves with the function that judges a request.
  function start(bytes) {
    var go = new scope.Go();
    return unpack(new Uint8Array(bytes)).then(function (wasm) { return WebAssembly.instantiate(wasm, go.importObject); }).then(function (program) {
      var ended = go.run(program.instance).then(function () { throw new Error(said || 'the engine ended'); });
      ended.catch(function () { /* the request in work says it */ });
      return function (request) {
        var encode = new TextEncoder();
        files = request.compare ? { 'new': encode.encode(request.text), 'old': encode.encode(request.old) } : {};
        Object.keys(files).forEach(function (name) { files['/' + name] = files[name]; });
        return Promise.race([ended, new Promise(function (done) {
          scope.cudacompat(JSON.stringify(request), function (answer) { done(answer); });
        })]);
      };
    });
  }

  scope.startEngine = start;
})(typeof self === 'undefined' ? globalThis : self);

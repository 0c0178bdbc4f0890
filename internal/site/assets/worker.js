// The worker that runs the engine. Once the engine is loaded, it has no way to the network.
'use strict';
importScripts('engine.js', 'wasm_exec.js');
var judge = fetch('engine.bin').then(function (r) {
  if (!r.ok) throw new Error('HTTP ' + r.status);
  return r.arrayBuffer();
}).then(self.startEngine).then(function (judge) {
  ['fetch', 'XMLHttpRequest', 'WebSocket', 'WebTransport', 'EventSource', 'importScripts', 'Worker', 'BroadcastChannel', 'indexedDB', 'caches'].forEach(function (name) {
    Object.defineProperty(self, name, { value: undefined });
  });
  self.postMessage({ ready: true });
  return judge;
});
judge.catch(function (e) { self.postMessage({ failed: 'load', error: String(e && e.message || e) }); });
self.onmessage = function (e) {
  judge.then(function (judge) {
    return judge(e.data.request).then(function (answer) { self.postMessage({ id: e.data.id, answer: answer }); });
  }).catch(function (error) { self.postMessage({ id: e.data.id, failed: 'run', error: String(error && error.message || error) }); });
};

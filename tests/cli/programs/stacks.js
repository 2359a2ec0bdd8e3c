const word = new Int32Array(new SharedArrayBuffer(4));
function culprit() {
  Atomics.wait(word, 0, 0, 0.2);
}
function minor() {
  Atomics.wait(word, 0, 0, 0.2);
}
for (let number = 0; number < 300; number++) {
  culprit();
  if (number % 10 === 0) minor();
}

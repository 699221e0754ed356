import { socketSilence as c } from "./test/bench/silence.ts";
console.log(c.name, await c.measure((m) => {}, 1));

// Tests the number of machines that workerd can serve with its limit of open files.
import { expect, test } from "vitest";
import { filesLack } from "./soak.ts";

const plan = {
  machines: 8000,
  minutes: 1,
  reconnect: false,
  real: false,
  tunnel: false,
  atOnce: false,
  trial: null,
};

test.each<[situation: string, machines: number, reconnect: boolean, open: number, enough: number | null]>([
  ["without a kill", 8000, false, 20_100, null],
  ["one too few without a kill", 8000, false, 20_099, 7999],
  ["four while all reconnect after a kill", 4000, true, 28_000, null],
  ["one too few for that", 4000, true, 27_999, 3999],
  ["hardly any", 1, true, 1024, 0],
])("%s", (_, machines, reconnect, open, enough) => {
  const lack = filesLack({ ...plan, machines, reconnect }, open);
  if (enough === null) expect(lack).toBeNull();
  else expect(lack).toContain(`enough for --machines ${enough}`);
});

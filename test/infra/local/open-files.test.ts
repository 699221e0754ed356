// Tests the number of machines that a local Worker can serve with its limit of open files.
import { expect, test } from "vitest";
import { filesLack } from "../../../infra/local/open-files.ts";

test.each<[situation: string, machines: number, open: number, most: number | null]>([
  ["two for each machine, and those of machines that enrol", 8000, 20_100, null],
  ["one too few", 8000, 20_099, 7999],
  ["few machines enrol all at the same time", 132, 1024, null],
  ["one machine too many", 133, 1024, 132],
  ["not even for one machine", 1, 64, 0],
  ["no machine", 0, 64, null],
])("%s", (_, machines, open, most) => {
  const lack = filesLack(machines, open, "--nodes");
  if (most === null) expect(lack).toBeNull();
  else expect(lack).toContain(`which is enough for --nodes ${most}`);
});

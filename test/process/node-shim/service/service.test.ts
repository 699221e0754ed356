// Tests that systemd reads the units that install-service writes.
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  ASK_SERVICE_UNIT,
  askUnitText,
  type Installation,
  KMSG_TEXT,
  UNIT_NAME,
  unitText,
} from "../../../../node-shim/service/unit.ts";
import { ROOT, temporaryFolder } from "../../../node-shim/base/temporary-folder.ts";

const template = (name: string) => readFileSync(join(ROOT, "infra/systemd", name), "utf8");
const hasSystemdAnalyze = spawnSync("systemd-analyze", ["--version"]).status === 0;

const INSTALLATION = {
  node: process.execPath,
  shim: join(ROOT, "node-shim/bin/node-shim.cjs"),
  flags: ["--config=/a b", "--eviction-hard=nodefs.available<5%"],
  state: "/data/$1 %d",
};

test.skipIf(!hasSystemdAnalyze).each([
  [UNIT_NAME, UNIT_NAME, unitText],
  [ASK_SERVICE_UNIT, ASK_SERVICE_UNIT, askUnitText],
  ["with --kmsg", UNIT_NAME, (template: string, to: Installation) => unitText(template, to) + KMSG_TEXT],
])("%s: systemd-analyze → no complaint, exposure at most 2.5 (needs systemd-analyze)", (_, name, textOf) => {
  const folder = temporaryFolder();
  onTestFinished(folder.remove);
  const path = join(folder.path, name);
  writeFileSync(path, textOf(template(name), INSTALLATION));
  const verified = spawnSync("systemd-analyze", ["verify", path], { encoding: "utf8" });
  // The output must be empty: for an unknown key systemd prints a line, and does not change the exit code.
  expect({ code: verified.status, said: verified.stdout + verified.stderr }).toEqual({ code: 0, said: "" });
  execFileSync("systemd-analyze", ["security", "--offline=true", "--threshold=25", path]);
});

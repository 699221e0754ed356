// Tests the packaged program that reads the hardware.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { runChild } from "../../../../../node-shim/base/child.ts";
import { hardware } from "../../../../../node-shim/sources/inventory/inventory.ts";
import { success } from "../../../../../shared/result.ts";
import { ROOT } from "../../../../node-shim/base/temporary-folder.ts";

it("on this machine → an inventory with its processor", async () => {
  const program = pathToFileURL(join(ROOT, "node-shim/dist/inventory.js"));
  const found = await hardware(false, runChild, program);
  expect(found).toMatchObject(success({ cpu: { model: expect.any(String) as string } }));
});

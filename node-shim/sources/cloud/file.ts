// A file in place of a metadata server, for clouds that have none. metadata.ts validates its content.
import { failure, type Result, success } from "../../../shared/result.ts";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { parse as parseYaml } from "yaml";
import { codeOf, faultOf } from "../../base/fault.ts";
import type { CloudSource } from "./metadata.ts";

const MAX_FILE_BYTES = 64 * 1024;

/** YAML or JSON. An absent provider ID or instance type counts as "". */
export function fileSource(path: string): CloudSource {
  return async () => {
    const text = await readSmallFile(path);
    if (!text.ok) return text;
    try {
      const document: unknown = parseYaml(text.value, { logLevel: "error" });
      if (typeof document !== "object" || document === null || Array.isArray(document))
        return failure("holds no fields such as providerID, instanceType, zone, region, addresses");
      return success({ providerID: "", instanceType: "", ...document });
    } catch (error) {
      return failure(`not YAML: ${faultOf(error)}`);
    }
  };
}

async function readSmallFile(path: string): Promise<Result<string>> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK); // a FIFO would wait for a writer
    try {
      const stat = await file.stat();
      // Anything else than a file may never end.
      if (!stat.isFile()) return failure("not a file");
      if (stat.size > MAX_FILE_BYTES) return failure(`larger than ${MAX_FILE_BYTES} bytes`);
      return success(await file.readFile("utf8"));
    } finally {
      await file.close();
    }
  } catch (error) {
    return failure(`cannot be read (${codeOf(error)})`);
  }
}

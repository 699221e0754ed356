// Objects of a cluster as kubectl names them, and how it is asked for some. Removes nothing.
import { type Result, success } from "../../../shared/result.ts";
import type { Kubectl } from "./kubectl.ts";

/** Objects of one namespace, or of none: `clusterrole.rbac.authorization.k8s.io/rollcall`. */
export interface ObjectGroup {
  namespace: string | null;
  names: string[];
}

/** The lines of what `kubectl get` says. */
export async function list(kubectl: Kubectl, args: readonly string[]): Promise<Result<string[]>> {
  const said = await kubectl(["get", ...args]);
  return said.ok ? success(linesOf(said.value)) : said;
}

export function linesOf(said: string): string[] {
  return said.split("\n").filter((line) => line !== "");
}

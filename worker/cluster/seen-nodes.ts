// The deployment's Nodes as lists and watch have them: what others have made of each, and which of their changes the
// machines' objects have to be told of. Asks nobody.
import type { Node } from "../../shared/kubernetes/types.ts";
import { ABSENT, type NodeRows, UNSURE } from "./node-rows.ts";
import type { Notices } from "./notices.ts";
import { isControlled, isGivenUp, isOnlyOurs, othersDigest } from "./others-parts.ts";

/** Nodes beyond them are kept true without the watch. */
export const MOST_NODES = 20_000;

interface SeenNodesDependencies {
  deployment: string;
  rows: NodeRows;
  notices: Notices;
}

export class SeenNodes {
  readonly #with: SeenNodesDependencies;
  /** Names of those that are too many. */
  readonly #beyond = new Set<string>();
  #hasNodeController = false;

  constructor(dependencies: SeenNodesDependencies) {
    this.#with = dependencies;
    const { rows, notices } = dependencies;
    // The list brings the others.
    for (const name of rows.names()) if (rows.get(name)?.seen === ABSENT) notices.put(name, "gone", null, 0);
  }

  /** How many are too many. */
  get beyond(): number {
    return this.#beyond.size;
  }

  /** Where a controller writes taints or gives Nodes up. */
  get hasNodeController(): boolean {
    return this.#hasNodeController;
  }

  /** Is it there, and does its machine's object know all of it? */
  isKnown(name: string): boolean {
    const { rows, notices } = this.#with;
    return (rows.get(name)?.seen ?? ABSENT) !== ABSENT && !notices.waits(name);
  }

  /**
   * `isAdded`: it is new on the list just now, and so its machine's object knows it where nobody else has written it. One
   * that a list brings may have lost since what that object believes it has: a removal leaves no trace. `isRewound`: the
   * cluster was restored, and the object is told in any case.
   */
  see(node: Node, length: number, { isAdded = false, isRewound = false }): void {
    const { deployment, rows, notices } = this.#with;
    const name = node.metadata?.name ?? "";
    const row = rows.get(name);
    if (!row && rows.size() >= MOST_NODES) return void this.#beyond.add(name);
    this.#beyond.delete(name);
    this.#hasNodeController ||= isControlled(node, deployment);
    const seen = othersDigest(node, deployment);
    const isOurs = !row && isAdded && isOnlyOurs(node, deployment);
    const told = isOurs ? seen : isRewound ? UNSURE : (row?.told ?? UNSURE);
    rows.put(name, { seen, told });
    if (seen === told) notices.drop(name);
    // Also where it waits already: this is the newer one.
    else notices.put(name, isGivenUp(node) ? "unknown" : "changed", node, length);
  }

  /** It was deleted, or has lost its label. */
  gone(name: string): void {
    const { rows, notices } = this.#with;
    this.#beyond.delete(name);
    const row = rows.get(name);
    if (!row || row.seen === ABSENT) return;
    rows.put(name, { seen: ABSENT, told: row.told });
    notices.put(name, "gone", null, 0);
  }

  /** All others are gone. */
  onlyThese(names: ReadonlySet<string>): void {
    for (const name of [...this.#with.rows.names(), ...this.#beyond]) if (!names.has(name)) this.gone(name);
  }
}

// Lists the rooms in the order in which they may import each other. A room is a folder directly below a part;
// docs/architecture.md describes the content of each.

/**
 * A part of the product. Files directly in a part, such as `worker/env.ts`, may import any of its rooms, and its
 * rooms may import these files.
 */
interface Part {
  path: string;
  /** The other parts that the files of this part may import. */
  above: readonly string[];
  /**
   * The rooms of the part, lowest floor first: a room may import only rooms of lower floors. Without floors, the rooms
   * may import each other.
   */
  floors?: readonly string[];
}

export const PARTS: readonly Part[] = [
  {
    path: "shared",
    above: [],
    floors: [
      "go",
      "kubernetes",
      "resources",
      "protocol",
      "deployment features fleet setters events",
      "node",
      "from-report",
      "quiet",
    ],
  },
  {
    path: "worker",
    above: ["shared"],
    floors: [
      "identity metrics",
      "kube",
      "storage",
      "tick cluster fleet",
      "registry",
      "machine",
      "gateway",
      "http",
    ],
  },
  {
    path: "node-shim",
    above: ["shared"],
    floors: [
      "base",
      "wire",
      "config identity shutdown service",
      "sources",
      "machine",
      "worker-link",
      "loop",
      "status",
      "doctor",
      "questions",
      "commands",
      "cli",
    ],
  },
  {
    path: "infra/page",
    above: ["shared"],
    floors: ["base", "live", "parts", "ask", "machine", "fleet views", "frame"],
  },
  { path: "infra/page/build", above: [] },
  { path: "infra/local/apiserver", above: ["shared"] },
  { path: "infra", above: ["shared", "node-shim", "infra/local/apiserver", "infra/page/build"] },
];

/** Imports that the floors do not decide, each allowed or refused for a reason. */
export const EXCEPTIONS: readonly { from: string; to: string; allowed: boolean; reason: string }[] = [
  {
    from: "shared/protocol",
    to: "shared/fleet",
    allowed: true,
    reason: "A route's query is parsed by the search's grammar.",
  },
  ...["tick", "cluster", "fleet", "registry"].map((room) => ({
    from: "worker/gateway",
    to: `worker/${room}`,
    allowed: false,
    reason: "A gateway renews leases and passes reports to machine/; it decides nothing about a Node.",
  })),
];

/** The packages that only these paths may import. */
export const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  hono: ["worker/http/", "worker/index.ts"],
};

// Draws the machine's hardware as a tree, and all its facts as JSON.
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { bytesText } from "../base/amounts.ts";
import { CopyButton } from "../parts/command.tsx";
import { Pairs } from "../parts/pairs.tsx";
import { Fold, Nothing, Section } from "./section.tsx";

export function HardwareSection({ whole }: { whole: WholeNode }) {
  const { inventory } = (whole.facts ?? {}) as Partial<Facts>;
  const tree = hardwareTree(inventory);
  return (
    <Section id="hardware">
      {tree.length === 0 ? (
        <Nothing>
          {inventory === null ? "The machine’s configuration forbids to report it." : "Not known."}
        </Nothing>
      ) : (
        <Branches branches={tree} />
      )}
    </Section>
  );
}

/** Draws the values of a branch. A branch with branches is folded, with its values in the fold's title. */
function Branches({ branches }: { branches: readonly HardwareBranch[] }) {
  return <Pairs pairs={branches.map((each) => [titled(each.name), <Branch key={each.name} {...each} />])} />;
}

function Branch({ text, branches }: HardwareBranch) {
  if (branches.length === 0) return text ?? "–";
  return (
    <Fold title={branches.map(({ name, text }) => leafText(name, text)).join(" · ")}>
      <Branches branches={branches} />
    </Fold>
  );
}

const titled = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);

/** Returns the text of a leaf. A number gets its name before it; any other text is shown without its name. */
const leafText = (name: string, text: string | undefined) =>
  text === undefined ? name : /^\d+$/.test(text) ? `${name} ${text}` : text;

export function RawFactsFold({ whole: { facts } }: { whole: WholeNode }) {
  if (!facts) return <Nothing>The machine has sent no facts yet.</Nothing>;
  return (
    <Fold title="The last good facts, as the machine sent them (JSON)">
      <RawFacts text={JSON.stringify(facts, null, 2)} />
    </Fold>
  );
}

function RawFacts({ text }: { text: string }) {
  return (
    <>
      <CopyButton text={text} of="the facts" />
      <pre tabIndex={0} role="region" aria-label="Facts as JSON">
        {text}
      </pre>
    </>
  );
}

interface HardwareBranch {
  name: string;
  /** The value of a leaf. Absent if the branch has branches. */
  text?: string;
  branches: HardwareBranch[];
}

/** Returns the tree of the hardware, without the parts of which nothing is known. */
export function hardwareTree(inventory: object | null | undefined): HardwareBranch[] {
  return Object.entries(inventory ?? {})
    .map(([key, value]) => branchOf(key, value))
    .filter(({ text, branches }) => text !== undefined || branches.length > 0);
}

function branchOf(key: string, value: unknown): HardwareBranch {
  if (typeof value !== "object" || value === null)
    return { name: words(key), text: leaf(key, value), branches: [] };
  if (!Array.isArray(value)) return { name: words(key), branches: hardwareTree(value) };
  const branches = value.map((each, index) => ({
    ...branchOf(String(index + 1), each),
    name: nameOf(each, index),
  }));
  return branches.length > 0 ? { name: words(key), branches } : { name: words(key), text: "none", branches };
}

/** Returns the name of a list's element, from a field that distinguishes it from other elements. */
function nameOf(value: unknown, index: number): string {
  const { name, model, vendor } = (value ?? {}) as Partial<Record<string, unknown>>;
  const known = [name, [vendor, model].filter((each) => typeof each === "string").join(" ")];
  return (
    known.find((each): each is string => typeof each === "string" && each !== "") ?? `number ${index + 1}`
  );
}

const ACRONYMS: Readonly<Record<string, string>> = { cpu: "CPU", gpus: "GPUs", mac: "MAC" };

/** Returns a key as words: `physicalCores` becomes `physical cores`. Drops a unit, which the value has. */
function words(key: string): string {
  const bare = key.replace(/(Bytes|MiB)$/, "");
  return (
    ACRONYMS[bare] ??
    bare.replaceAll(
      /([a-z])([A-Z])/g,
      (_, before: string, after: string) => `${before} ${after.toLowerCase()}`,
    )
  );
}

function leaf(key: string, value: unknown): string {
  if (typeof value === "number" && key.endsWith("Bytes")) return bytesText(value);
  if (typeof value === "number" && key.endsWith("MiB")) return bytesText(value * 2 ** 20);
  return value === null ? "none" : typeof value === "string" ? value : JSON.stringify(value);
}

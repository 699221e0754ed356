// Draws the machine's hardware as a tree, and all its facts as JSON.
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { bytesText } from "../base/amounts.ts";
import { CopyButton } from "../parts/command.tsx";
import { Fold, Nothing, Section } from "./section.tsx";

export function HardwareSection({ whole }: { whole: WholeNode }) {
  const { inventory } = (whole.facts ?? {}) as Partial<Facts>;
  const tree = hardwareTree(inventory);
  const leaves = tree.filter(({ branches }) => branches.length === 0);
  return (
    <Section id="hardware">
      {tree.length === 0 ? (
        <Nothing>{inventory === null ? "The machine is configured not to tell." : "Not known."}</Nothing>
      ) : (
        <>
          {leaves.length > 0 && <Branches branches={leaves} />}
          {tree
            .filter(({ branches }) => branches.length > 0)
            .map(({ name, branches }) => (
              <Fold key={name} title={<Title name={name} branches={branches} />}>
                <Branches branches={branches} />
              </Fold>
            ))}
        </>
      )}
    </Section>
  );
}

/** Returns the text of a leaf. A number gets its name before it; any other text is shown without its name. */
const leafText = (name: string, text: string | undefined) =>
  text === undefined ? name : /^\d+$/.test(text) ? `${name} ${text}` : text;

/** Draws the name of a branch, and as many of its values as fit into a line. */
function Title({ name, branches }: { name: string; branches: readonly HardwareBranch[] }) {
  const text = branches.map(({ name, text }) => leafText(name, text)).join(" · ");
  return (
    <>
      <strong>{name}</strong> <span class="quiet">{text}</span>
    </>
  );
}

function Branches({ branches }: { branches: readonly HardwareBranch[] }) {
  return (
    <ul class="machine-tree">
      {branches.map(({ name, text, branches }, index) => (
        <li key={index}>
          <span class="quiet">{name}</span> {text}
          {branches.length > 0 && <Branches branches={branches} />}
        </li>
      ))}
    </ul>
  );
}

export function RawFactsSection({ whole: { facts } }: { whole: WholeNode }) {
  return (
    <Section id="raw">
      {facts ? (
        <Fold title="The last good facts, as the machine sent them (JSON)">
          <RawFacts text={JSON.stringify(facts, null, 2)} />
        </Fold>
      ) : (
        <Nothing>None yet.</Nothing>
      )}
    </Section>
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

export function hardwareTree(inventory: object | null | undefined): HardwareBranch[] {
  return Object.entries(inventory ?? {}).map(([key, value]) => branchOf(key, value));
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

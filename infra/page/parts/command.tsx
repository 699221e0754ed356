// Draws texts with commands that stand out and with links to the documentation, a button that copies a command, and a
// machine's join command.
import { useState } from "preact/hooks";
import { later } from "../base/clock.ts";
import { usePage } from "../page.ts";

interface MarkedTextProps {
  text: string;
  /** The machine's name, which replaces NAME in the text. Absent if NAME stays. */
  name?: string;
  /** true if a machine may have written the text. Such texts get no copy buttons and no links. */
  isOfMachine?: boolean;
}

export function MarkedText({ text, name, isOfMachine = false }: MarkedTextProps) {
  const docs = usePage().session.docs();
  return (
    <>
      {markedParts(text, name).map((part, index) => {
        if (part.page !== undefined && docs !== undefined && !isOfMachine)
          return (
            <a key={index} href={`${docs}/${part.page}.html`} target="_blank" rel="noreferrer">
              {part.text}
            </a>
          );
        if (!part.isCommand) return part.text;
        if (isOfMachine || !isTyped(part)) return <code key={index}>{part.text}</code>;
        return (
          <span key={index} class="command">
            <code>{part.text}</code>
            <CopyButton text={part.text} of={part.text} />
          </span>
        );
      })}
    </>
  );
}

interface MarkedPart {
  isCommand: boolean;
  text: string;
  /** The page of the documentation that the part names: `apiserver` of `docs/apiserver.md`. */
  page?: string;
}

/** Splits a text at its backticks, which enclose commands, and at names of pages. `name` replaces NAME. */
export function markedParts(text: string, name?: string): MarkedPart[] {
  return text
    .split("`")
    .map((part, index) => ({
      isCommand: index % 2 === 1,
      text: name === undefined ? part : part.replaceAll(/\bNAME\b/g, () => name),
    }))
    .flatMap((part) => (part.isCommand ? part : pagesIn(part.text)))
    .filter((part) => part.text !== "");
}

const pagesIn = (text: string): MarkedPart[] =>
  text.split(/(docs\/[\w-]+\.md)/).map((part, index) => ({
    isCommand: false,
    text: part,
    ...(index % 2 === 1 && { page: part.slice("docs/".length, -".md".length) }),
  }));

const PROGRAMS = ["rollcall", "node-shim", "kubectl", "pgrep", "systemctl", "timedatectl"];

/** Returns true for a whole command without placeholders. */
export const isTyped = ({ isCommand, text }: MarkedPart): boolean =>
  isCommand && PROGRAMS.some((program) => text.startsWith(`${program} `)) && !/ [A-Z]{3,}\b/.test(text);

const SAID_MS = 2000;

/** Draws a button that copies a text and confirms it. `of` names the text for screen readers. */
export function CopyButton({ text, of }: { text: string; of: string }) {
  const { notify } = usePage();
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      later(() => setCopied(false), SAID_MS);
    } catch {
      notify("This browser does not let the page copy: select the text and copy it by hand.", "fault");
    }
  };
  return (
    <button type="button" class="copy" aria-label={`Copy ${of}`} onClick={() => void copy()}>
      <span aria-live="polite">{isCopied ? "Copied" : "Copy"}</span>
    </button>
  );
}

/** Returns a machine's join command, with a file, or with `token` in a pipe, so that no process list shows it. */
export function joinCommand(origin: string, token?: string): string {
  const join = `node-shim join --url ${origin} --join-token-file`;
  return token === undefined
    ? `${join} /root/join-token --install-service`
    : `printf %s '${token}' | ${join} - --install-service`;
}

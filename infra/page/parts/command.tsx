// A text in which commands stand out; whole ones can be copied.
import { useState } from "preact/hooks";
import { later } from "../base/clock.ts";
import { usePage } from "../page.ts";

interface MarkedTextProps {
  text: string;
  /** Of the machine, which stands for NAME; absent: nothing does. */
  name?: string;
  /** A machine may have written it: nothing of it is offered to be typed elsewhere. */
  isOfMachine?: boolean;
}

export function MarkedText({ text, name, isOfMachine = false }: MarkedTextProps) {
  return (
    <>
      {markedParts(text, name).map((part, index) => {
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

// Texts of the explanations in parts: words, and what is typed on a command line. Pure.

interface MarkedPart {
  isCommand: boolean;
  text: string;
}

/** Commands stand between backticks. `name`: the machine's, which stands for NAME; absent: nothing does. */
export function markedParts(text: string, name?: string): MarkedPart[] {
  return text
    .split("`")
    .map((part, index) => ({
      isCommand: index % 2 === 1,
      text: name === undefined ? part : part.replaceAll(/\bNAME\b/g, () => name),
    }))
    .filter((part) => part.text !== "");
}

const PROGRAMS = ["rollcall", "node-shim", "kubectl", "pgrep", "systemctl", "timedatectl"];

/** Is it a whole command, which is worth to be copied? */
export const isTyped = ({ isCommand, text }: MarkedPart): boolean =>
  isCommand && PROGRAMS.some((program) => text.startsWith(`${program} `)) && !/ [A-Z]{3,}\b/.test(text);

// Copies a text with one click, and says so.

const SAID_MS = 2000;

/** `of`: what it copies, for who cannot see beside what it stands. */
export function CopyButton({ text, of }: { text: string; of: string }) {
  const { say } = usePage();
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      later(() => setCopied(false), SAID_MS);
    } catch {
      say("This browser does not let the page copy: select the text and copy it by hand.", "fault");
    }
  };
  return (
    <button type="button" class="copy" aria-label={`Copy ${of}`} onClick={() => void copy()}>
      <span aria-live="polite">{isCopied ? "Copied" : "Copy"}</span>
    </button>
  );
}

// The command with which a machine joins, as an operator copies it. Pure.

/** `token`: without one a file is named. It goes through a pipe: no process list shows it. */
export function joinCommand(origin: string, token?: string): string {
  const join = `node-shim join --url ${origin} --join-token-file`;
  return token === undefined
    ? `${join} /root/join-token --install-service`
    : `printf %s '${token}' | ${join} - --install-service`;
}

// Copies a text with one click, and says so.
import { useState } from "preact/hooks";
import { later } from "../base/clock.ts";
import { usePage } from "../page.ts";

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

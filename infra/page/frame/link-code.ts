// The one-time code of a link to the page. It is out of the URL at once, whoever looks: what stays there is handed on, shown
// and remembered. Signs nobody in.
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";

/** `#code=CODE`; null: there is none. The fragment is never sent to a server. */
function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code !== null) history.replaceState(history.state, "", location.pathname + location.search);
  return code;
}

/** That of the link by which the page was opened, or of one that is opened in it later. */
export function useLinkCode(): Signal<string | null> {
  const [first] = useState(takeCode);
  const code = useSignal(first);
  useEffect(() => {
    const take = () => {
      code.value = takeCode() ?? code.peek();
    };
    addEventListener("hashchange", take);
    return () => removeEventListener("hashchange", take);
  }, []);
  return code;
}

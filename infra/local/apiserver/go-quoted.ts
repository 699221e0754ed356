// Lists as Go's %q writes them. Knows nothing of Kubernetes.
import { quote } from "../../../shared/go/strings.ts";

export function quotedList(texts: readonly string[]): string {
  return `[${texts.map(quote).join(" ")}]`;
}

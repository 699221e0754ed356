// Tokens: to come.
export function TokensView() {
  return <h1>Tokens</h1>;
}

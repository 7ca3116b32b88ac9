export function Before() {
  return <p>before</p>;
}

export function Torn() {
  return <div><span></div>;
}

export const After = () => <Before />;

import React, { useEffect, useState } from "react";
import { Row } from "./Row";
import * as Icons from "./icons";

/** What a list shows. */
export interface ListProps<T> {
  items: T[];
  onPick?: (item: T) => void;
}

type State = { open: boolean };

const ROW_HEIGHT = 24;

/** Shows items in rows. */
export function List<T extends { id: string }>({ items, onPick }: ListProps<T>) {
  const [picked, setPicked] = useState<string | null>(null);

  useEffect(() => {
    track("list", items.length);
  }, [items]);

  const handlePick = (item: T) => {
    setPicked(item.id);
    onPick?.(item);
  };

  return (
    <Panel title="Items" height={ROW_HEIGHT} footer={renderFooter}>
      <Icons.Search />
      {items.map((item) => (
        <Row key={item.id} onClick={() => handlePick(item)} selected={item.id === picked} />
      ))}
      <button onClick={handlePick}>Pick</button>
    </Panel>
  );
}

const renderFooter = () => <footer>{formatCount(3)}</footer>;

export class Legacy extends React.Component<ListProps<string>, State> {
  state: State = { open: false };

  toggle = () => this.setState({ open: !this.state.open });

  render() {
    return <List items={[]} onPick={this.toggle} />;
  }
}

export const Memo = React.memo(function Inner(props: ListProps<never>) {
  return <List {...props} />;
});

export default List;

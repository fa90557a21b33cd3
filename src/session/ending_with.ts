/** The same items, ending after the first for which `isLast` is true. Leaving early lets go of the source at once. */
export function endingWith<T>(source: AsyncIterable<T>, isLast: (item: T) => boolean): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]: () => {
      const items = source[Symbol.asyncIterator]();
      let isOver = false;
      const leave = async (): Promise<IteratorResult<T>> => {
        isOver = true;
        await items.return?.();
        return { value: undefined, done: true };
      };
      return {
        async next(): Promise<IteratorResult<T>> {
          if (isOver) return await leave();
          const result = await items.next();
          if (result.done !== true && isLast(result.value)) isOver = true;
          return result;
        },
        return: leave,
      };
    },
  };
}

"""What a call tells: the usage as the SDK has it when all is over, and the exception that a program would see."""

from __future__ import annotations

from typing import Any, Callable, Optional


class Told(dict[str, Any]):
    """Filled while the call goes on, so that what the SDK had before it raised is told too."""

    def use(self, usage: Any, **names: Any) -> None:
        """The SDK's usage object as plain data, in the protocol's own names."""
        if usage is not None:
            self["usage"] = usage.model_dump(exclude_none=True, **names)


def telling(
    call: Callable[[Any, Told], None], facts: Callable[[Any], dict[str, Any]], of_the_sdk: type[Exception]
) -> Callable[[Any], Told]:
    """A call that returns what there is to tell, whether it raises or not."""

    def told(order: Any) -> Told:
        made = Told(usage=None, raised=None)
        try:
            call(order, made)
        except Exception as error:
            known: dict[str, Any] = facts(error) if isinstance(error, of_the_sdk) else {}
            bases = [base.__name__ for base in type(error).__mro__]
            made["raised"] = {"class": type(error).__name__, "bases": bases, "text": str(error), **known}
        return made

    return told


def kept(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """One client for all calls with a key, as in a program: each takes up to a tenth of a second to make."""
    clients: dict[tuple[str, str], Any] = {}

    def client(order: Any) -> Any:
        known = (order.base_url, order.key)
        if known not in clients:
            clients[known] = make(order)
        return clients[known]

    return client


def last(found: Optional[Any], now: Optional[Any]) -> Optional[Any]:
    """The later of two snapshots, where there is one."""
    return found if now is None else now

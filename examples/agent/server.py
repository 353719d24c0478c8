"""A Model Context Protocol server: six business tools over a small ledger in memory. `python examples/agent/server.py` runs it."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import MCPServer
from pydantic import Field

server = MCPServer("office")
invoices: list[dict[str, Any]] = []
customers: dict[str, str] = {}
meetings: set[tuple[dt.date, int]] = set()


def said(description: str) -> Any:
    return Field(description=description)


@server.tool(description="Create an invoice for a customer.")
def create_invoice(
    customer: Annotated[str, said("Name of the customer who is billed, spelled as in the situation.")],
    amount: Annotated[float, said("Amount to bill in dollars, with at most 2 decimals.")],
    due: Annotated[dt.date, said("Date by which the customer has to pay.")],
    send_now: Annotated[bool, said("True if the invoice goes to the customer at once, false if it stays a draft.")],
) -> str:
    invoices.append({"customer": customer, "amount": amount})
    return f"Invoice {len(invoices)}: {customer} owes ${amount:,.2f} by {due}; {'sent' if send_now else 'kept as a draft'}."


@server.tool(description="Add a new company to the customer list.")
def register_customer(
    company: Annotated[str, said("Name of the new company, spelled as in the situation.")],
    city: Annotated[str, said("City where the company has its seat, without region or country.")],
    size: Annotated[
        Literal["small", "medium", "large"],
        said("Size of the company: small up to 49 employees, medium 50 to 249, large 250 and more."),
    ],
    newsletter: Annotated[bool, said("True if the company wants to receive the newsletter, false if not.")],
) -> str:
    known = company in customers
    customers[company] = city
    return f"{company} of {city} ({size}) is registered{' anew' if known else ''}, {'with' if newsletter else 'without'} the newsletter."


@server.tool(description="Add up three amounts of money.")
def sum_amounts(
    first: Annotated[int, said("The amount to add that the situation names first, in dollars.")],
    second: Annotated[int, said("The amount to add that the situation names second, in dollars.")],
    third: Annotated[int, said("The amount to add that the situation names third, in dollars.")],
) -> str:
    return f"{first} + {second} + {third} = {first + second + third} dollars."


@server.tool(description="Look up when or where an event is held, or how many seats are left.")
def event_status(
    event: Annotated[str, said("Name of the event, spelled as in the situation, without a leading article.")],
    date: Annotated[dt.date, said("Date of the event.")],
    detail: Annotated[
        Literal["time", "place", "seats"],
        said("What to look up: time is when it starts, place is where it is held, seats is how many seats are still free."),
    ],
) -> str:
    return f"{event} on {date}: the {detail} is not in the calendar yet."


@server.tool(description="Look up the phone number, the address, the balance or the contract of a customer.")
def customer_lookup(
    name: Annotated[str, said("Name of the customer, a person or a company, spelled as in the situation, without a title.")],
    field: Annotated[
        Literal["phone", "address", "balance", "contract"],
        said(
            "What to look up: phone is the telephone number, address is the postal address, balance is the sum the customer still owes, "
            "contract is the agreed terms."
        ),
    ],
) -> str:
    if field == "balance":
        return f"{name} owes ${sum(invoice['amount'] for invoice in invoices if invoice['customer'] == name):,.2f}."
    return f"{name}: {customers[name]}" if field == "address" and name in customers else f"{name}: no {field} on file."


@server.tool(description="Book a meeting with a person.")
def book_meeting(
    with_person: Annotated[str, said("Full name of the person to meet, spelled as in the situation, without a title.")],
    date: Annotated[dt.date, said("Date of the meeting.")],
    hour: Annotated[int, Field(ge=8, le=18, description="Full hour at which the meeting starts, on the 24-hour clock.")],
    online: Annotated[bool, said("True if the meeting is held by video or telephone, false if the people meet in one place.")],
) -> str:
    taken = (date, hour) in meetings
    meetings.add((date, hour))
    return f"{with_person}, {date} at {hour}:00{' online' if online else ''}{'; another meeting is at that hour' if taken else ''}."


if __name__ == "__main__":
    server.run()

"""Ask with a pydantic class, get an instance back."""

import datetime as dt
from typing import Literal

from pydantic import BaseModel, Field

from clover_decide import decide


class Notice(BaseModel):
    timely: bool = Field(description="Was the notice timely?")
    days: int = Field(description="How many days before the end of the term was notice given?", ge=0, le=999)
    ends: dt.date = Field(description="On which date does the contract expire?")
    deposit: Literal["full", "partial", "none"] = Field(description="How much of the deposit goes back?")


MATERIAL = (
    "Harbour Lofts leases the studio to Ines Moreau until 30 June 2025. "
    "Notice must be given at least 30 days before the end of the term. "
    "Harbour Lofts received the notice on 26 May 2025. The deposit is $1800. Inspection found no damage. "
    "If notice is late the whole deposit is kept; if it is timely the deposit is returned less the cost of any damage."
)

if __name__ == "__main__":
    decision = decide(MATERIAL, Notice)
    print(repr(decision.as_model()))
    print(f"all together {decision.probability:.2f}")

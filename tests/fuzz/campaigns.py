"""All campaigns by name."""

from __future__ import annotations

from tests.fuzz import crowds, kills, odd_tables
from tests.fuzz.campaign import Campaign

CAMPAIGNS: dict[str, Campaign] = {
    campaign.name: campaign
    for campaign in (
        *odd_tables.CAMPAIGNS,
        *kills.CAMPAIGNS,
        *crowds.CAMPAIGNS,
    )
}

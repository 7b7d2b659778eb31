"""All campaigns by name."""

from __future__ import annotations

from tests.fuzz import crowds, kills, models, odd_tables, stores
from tests.fuzz.campaign import Campaign

CAMPAIGNS: dict[str, Campaign] = {
    campaign.name: campaign
    for campaign in (
        *odd_tables.CAMPAIGNS,
        *models.CAMPAIGNS,
        *stores.CAMPAIGNS,
        *kills.CAMPAIGNS,
        *crowds.CAMPAIGNS,
    )
}

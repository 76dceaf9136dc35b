"""The first version: studies, items, annotators, task batches, presentations, judgements, surveys,
accounts, audit log.
"""

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
MOMENT = sa.DateTime(timezone=True)
FOR_GOOD = "lines of the audit log stay as they are"


def upgrade() -> None:
    """Create the tables; the audit log accepts only additional lines."""
    op.create_table(
        "studies",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("arrived", sa.Integer(), nullable=False),
        sa.Column("withdrawn", sa.Integer(), nullable=False),
        sa.Column("begun_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_studies")),
        sa.UniqueConstraint("name", name=op.f("uq_studies_name")),
    )
    op.create_table(
        "accounts",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("study_id", NUMBER, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("password", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_accounts_study_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accounts")),
        sa.UniqueConstraint("study_id", "name", name=op.f("uq_accounts_study_id_name")),
    )
    op.create_table(
        "audit",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("study_id", NUMBER, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_audit_study_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index(op.f("ix_audit_study_id"), "audit", ["study_id"])
    op.create_table(
        "invites",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("study_id", NUMBER, nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("uses", sa.Integer(), nullable=True),
        sa.Column("used", sa.Integer(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("expires_at", MOMENT, nullable=True),
        sa.Column("revoked", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_invites_study_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invites")),
        sa.UniqueConstraint("token", name=op.f("uq_invites_token")),
    )
    op.create_index(op.f("ix_invites_study_id"), "invites", ["study_id"])
    op.create_table(
        "items",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("study_id", NUMBER, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("first", sa.Text(), nullable=False),
        sa.Column("second", sa.Text(), nullable=True),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("taken", sa.Integer(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("left_a", sa.Integer(), nullable=False),
        sa.Column("left_b", sa.Integer(), nullable=False),
        sa.Column("rank", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("0 <= done AND done <= taken AND taken <= wanted", name=op.f("ck_items_quota")),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_items_study_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_items")),
        sa.UniqueConstraint("study_id", "role", "name", name=op.f("uq_items_study_id_role_name")),
    )
    op.create_index(op.f("ix_items_study_id_role_taken_rank"), "items", ["study_id", "role", "taken", "rank"])
    op.create_table(
        "sessions",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("study_id", NUMBER, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_sessions_study_id")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_sessions")),
    )
    op.create_index(op.f("ix_sessions_study_id_kind_subject"), "sessions", ["study_id", "kind", "subject"])
    op.create_table(
        "persons",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("study_id", NUMBER, nullable=False),
        sa.Column("invite_id", NUMBER, nullable=False),
        sa.Column("pseudonym", sa.Text(), nullable=False),
        sa.Column("external", sa.Text(), nullable=True),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("blocked", sa.Text(), nullable=True),
        sa.Column("exempt", sa.Boolean(), nullable=False),
        sa.Column("left_out", sa.Boolean(), nullable=False),
        sa.Column("came_at", MOMENT, nullable=False),
        sa.Column("seen_at", MOMENT, nullable=True),
        sa.Column("agreed_at", MOMENT, nullable=True),
        sa.Column("passed_at", MOMENT, nullable=True),
        sa.Column("units", sa.Integer(), nullable=False),
        sa.Column("votes", sa.Integer(), nullable=False),
        sa.Column("broken", sa.JSON(), nullable=False),
        sa.Column("review", sa.Text(), nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["invite_id"], ["invites.id"], name=op.f("fk_persons_invite_id")),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_persons_study_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_persons")),
        sa.UniqueConstraint("study_id", "external", name=op.f("uq_persons_study_id_external")),
        sa.UniqueConstraint("study_id", "pseudonym", name=op.f("uq_persons_study_id_pseudonym")),
    )
    op.create_index(op.f("ix_persons_invite_id"), "persons", ["invite_id"])
    op.create_table(
        "kin",
        sa.Column("person_id", NUMBER, nullable=False),
        sa.Column("other_id", NUMBER, nullable=False),
        sa.ForeignKeyConstraint(["other_id"], ["persons.id"], name=op.f("fk_kin_other_id")),
        sa.ForeignKeyConstraint(["person_id"], ["persons.id"], name=op.f("fk_kin_person_id")),
        sa.PrimaryKeyConstraint("person_id", "other_id", name=op.f("pk_kin")),
    )
    op.create_index(op.f("ix_kin_other_id"), "kin", ["other_id"])
    op.create_table(
        "units",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("study_id", NUMBER, nullable=False),
        sa.Column("person_id", NUMBER, nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("begun_at", MOMENT, nullable=False),
        sa.Column("until", MOMENT, nullable=False),
        sa.Column("complete_at", MOMENT, nullable=True),
        sa.Column("read_at", MOMENT, nullable=True),
        sa.Column("surveyed", sa.Boolean(), nullable=False),
        sa.Column("code", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["person_id"], ["persons.id"], name=op.f("fk_units_person_id")),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_units_study_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_units")),
        sa.UniqueConstraint("token", name=op.f("uq_units_token")),
    )
    op.create_index(op.f("ix_units_person_id_state"), "units", ["person_id", "state"])
    op.create_index(op.f("ix_units_study_id_state_until"), "units", ["study_id", "state", "until"])
    op.create_table(
        "presentations",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("unit_id", NUMBER, nullable=False),
        sa.Column("person_id", NUMBER, nullable=False),
        sa.Column("item_id", NUMBER, nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("left", sa.Text(), nullable=False),
        sa.Column("questions", sa.JSON(), nullable=False),
        sa.Column("original_id", NUMBER, nullable=True),
        sa.Column("slot", sa.Integer(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("shown_at", MOMENT, nullable=True),
        sa.Column("answered_at", MOMENT, nullable=True),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("wrong", sa.JSON(), nullable=True),
        sa.Column("corrected_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"], name=op.f("fk_presentations_item_id")),
        sa.ForeignKeyConstraint(
            ["original_id"], ["presentations.id"], name=op.f("fk_presentations_original_id")
        ),
        sa.ForeignKeyConstraint(["person_id"], ["persons.id"], name=op.f("fk_presentations_person_id")),
        sa.ForeignKeyConstraint(["unit_id"], ["units.id"], name=op.f("fk_presentations_unit_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_presentations")),
        sa.UniqueConstraint("item_id", "slot", name=op.f("uq_presentations_item_id_slot")),
        sa.UniqueConstraint("token", name=op.f("uq_presentations_token")),
    )
    op.create_index(op.f("ix_presentations_original_id"), "presentations", ["original_id"])
    op.create_index(op.f("ix_presentations_person_id"), "presentations", ["person_id"])
    op.create_index(op.f("ix_presentations_unit_id"), "presentations", ["unit_id"])
    op.create_table(
        "surveys",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("unit_id", NUMBER, nullable=False),
        sa.Column("person_id", NUMBER, nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("block", sa.Text(), nullable=False),
        sa.Column("statements", sa.JSON(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("shown_at", MOMENT, nullable=True),
        sa.Column("answered_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(["person_id"], ["persons.id"], name=op.f("fk_surveys_person_id")),
        sa.ForeignKeyConstraint(["unit_id"], ["units.id"], name=op.f("fk_surveys_unit_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_surveys")),
        sa.UniqueConstraint("token", name=op.f("uq_surveys_token")),
    )
    op.create_index(op.f("ix_surveys_person_id"), "surveys", ["person_id"])
    op.create_index(op.f("ix_surveys_unit_id"), "surveys", ["unit_id"])
    op.create_table(
        "survey_answers",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("survey_id", NUMBER, nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["survey_id"], ["surveys.id"], name=op.f("fk_survey_answers_survey_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_survey_answers")),
    )
    op.create_index(op.f("ix_survey_answers_survey_id"), "survey_answers", ["survey_id"])
    op.create_table(
        "votes",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("presentation_id", NUMBER, nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=True),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["presentation_id"], ["presentations.id"], name=op.f("fk_votes_presentation_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_votes")),
    )
    op.create_index(op.f("ix_votes_presentation_id"), "votes", ["presentation_id"])
    if op.get_bind().dialect.name == "sqlite":
        for change in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER audit_{change.lower()} BEFORE {change} ON audit "
                f"BEGIN SELECT RAISE(ABORT, '{FOR_GOOD}'); END"
            )
    else:
        op.execute(
            "CREATE FUNCTION evenhand_audit() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{FOR_GOOD}'; END $$"
        )
        for change, each in (("UPDATE", "ROW"), ("DELETE", "ROW"), ("TRUNCATE", "STATEMENT")):
            op.execute(
                f"CREATE TRIGGER audit_{change.lower()} BEFORE {change} ON audit "
                f"FOR EACH {each} EXECUTE FUNCTION evenhand_audit()"
            )

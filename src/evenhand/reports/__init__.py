"""FACE"""
